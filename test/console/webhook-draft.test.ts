import { expect, test } from 'vitest'
import { type Fault, validationError } from '../../console/src/api/client/errors.ts'
import {
  draftFaults,
  headerErrors,
  newHeader,
  newWebhook,
  toDrafts,
  toWebhooks,
} from '../../console/src/views/webhooks/draft.ts'
import { destinationShape } from '../../settings/settings.ts'

const header = (name: string, value = 'v') => ({ ...newHeader(), name, value })
const webhook = (...headers: ReturnType<typeof header>[]) => ({
  ...newWebhook(),
  url: 'https://crm.example/hook',
  headers,
})

test('drafts become webhooks that the API accepts', () => {
  const webhooks = toWebhooks([
    webhook(header('X-Team', 'crm')),
    { ...webhook(), url: ' https://b.example/ ' },
  ])
  expect(destinationShape.parse({ name: 'CRM', webhooks }).webhooks).toEqual([
    { url: 'https://crm.example/hook', headers: { 'X-Team': 'crm' } },
    { url: 'https://b.example/', headers: {} },
  ])
})

test('an untouched stored value is kept, and a typed value replaces it', () => {
  const [kept] = toDrafts([{ url: 'https://crm.example/', headers: { 'X-Team': '***', 'X-Key': '***' } }])
  if (!kept) throw new Error('expected a draft')
  const headers = kept.headers.map((each) => (each.name === 'X-Key' ? { ...each, value: 'new' } : each))
  expect(toWebhooks([{ ...kept, headers }])).toEqual([
    { url: 'https://crm.example/', headers: { 'X-Team': '***', 'X-Key': 'new' } },
  ])
})

test('two headers of the same name are a fault', () => {
  expect(draftFaults([webhook(), webhook(header('X-Team'), header('x-team '))])).toEqual([
    {
      pointer: '/webhooks/1/headers/x-team',
      code: 'duplicate_header',
      message: 'This header already exists. Remove one of them.',
    },
  ])
})

test('a fault of a header appears at its name or its value', () => {
  const pointer = '/webhooks/0/headers/X-Team'
  const errorsOf = (code: Fault['code']) =>
    headerErrors(validationError([{ pointer, code, message: 'wrong' }]), pointer)
  for (const code of ['invalid_header_name', 'reserved_header', 'duplicate_header', 'required'] as const)
    expect(errorsOf(code)).toEqual({ name: 'wrong' })
  for (const code of ['invalid_header_value', 'nothing_to_keep'] as const)
    expect(errorsOf(code)).toEqual({ value: 'wrong' })
  expect(headerErrors(undefined, pointer)).toEqual({})
})

test('a header without a name is a fault', () => {
  expect(draftFaults([webhook(header('X-Team'), header(' '))])).toMatchObject([{ code: 'required' }])
})

test('a stored value is lost when its URL or name changes', () => {
  const [kept] = toDrafts([{ url: 'https://crm.example/', headers: { 'X-Key': '***' } }])
  const [one] = kept?.headers ?? []
  if (!kept || !one) throw new Error('expected a draft')
  const elsewhere = { ...kept, url: 'https://crm.example/v2' }
  const renamed = { ...kept, headers: [{ ...one, name: 'X-Token' }] }
  for (const draft of [elsewhere, renamed]) {
    expect(toWebhooks([draft])[0]?.headers).not.toMatchObject({ 'X-Key': '***' })
    expect(draftFaults([draft])).toMatchObject([{ code: 'nothing_to_keep' }])
  }
  const typed = { ...elsewhere, headers: [{ ...one, value: 'again' }] }
  expect([draftFaults([typed]), toWebhooks([typed])[0]?.headers]).toEqual([[], { 'X-Key': 'again' }])
  const inCapitals = { ...kept, headers: [{ ...one, name: 'x-key ' }] }
  expect([draftFaults([inCapitals]), toWebhooks([inCapitals])[0]?.headers]).toEqual([[], { 'x-key': '***' }])
})

test.each(['', 'localhost:9001/x', 'ftp://a.example/', '/hook', 'https//a.example'])(
  '%j is not a valid URL',
  (url) => {
    expect(draftFaults([webhook(), { ...webhook(), url }])).toMatchObject([
      { pointer: '/webhooks/1/url', code: 'invalid_url' },
    ])
  },
)

test('http:// and https:// URLs are valid, with or without surrounding spaces', () => {
  for (const url of ['http://localhost:9001/x', ' https://a.example '])
    expect(draftFaults([{ ...webhook(), url }])).toEqual([])
})
