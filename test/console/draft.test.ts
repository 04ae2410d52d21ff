import { expect, test } from 'vitest'
import {
  draftFaults,
  draftOf,
  newHeader,
  newWebhook,
  webhooksOf,
} from '../../console/src/views/webhooks/draft.ts'
import { destinationShape } from '../../settings/settings.ts'

const header = (name: string, value = 'v') => ({ ...newHeader(), name, value })
const webhook = (...headers: ReturnType<typeof header>[]) => ({
  ...newWebhook(),
  url: 'https://crm.example/hook',
  headers,
})

test('what is typed is what the API takes', () => {
  const webhooks = webhooksOf([
    webhook(header('X-Team', 'crm')),
    { ...webhook(), url: ' https://b.example/ ' },
  ])
  expect(destinationShape.parse({ name: 'CRM', webhooks }).webhooks).toEqual([
    { url: 'https://crm.example/hook', headers: { 'X-Team': 'crm' } },
    { url: 'https://b.example/', headers: {} },
  ])
})

test('a stored value that nobody touches is kept, and one that is typed replaces it', () => {
  const [kept] = draftOf([{ url: 'https://crm.example/', headers: { 'X-Team': '***', 'X-Key': '***' } }])
  if (!kept) throw new Error('there is one')
  const headers = kept.headers.map((each) => (each.name === 'X-Key' ? { ...each, value: 'new' } : each))
  expect(webhooksOf([{ ...kept, headers }])).toEqual([
    { url: 'https://crm.example/', headers: { 'X-Team': '***', 'X-Key': 'new' } },
  ])
})

test('of two headers of one name none is lost without a word', () => {
  expect(draftFaults([webhook(), webhook(header('X-Team'), header('x-team '))])).toEqual([
    {
      pointer: '/webhooks/1/headers/x-team',
      code: 'duplicate_header',
      message: 'this header is there already: leave one out',
    },
  ])
})

test('a header without a name is named, and one with a name is in order', () => {
  expect(draftFaults([webhook(header('X-Team'), header(' '))])).toMatchObject([{ code: 'required' }])
})

test('a stored value is kept for its own URL and name alone: changed, it has to be typed again', () => {
  const [kept] = draftOf([{ url: 'https://crm.example/', headers: { 'X-Key': '***' } }])
  const [one] = kept?.headers ?? []
  if (!kept || !one) throw new Error('there is one')
  const elsewhere = { ...kept, url: 'https://crm.example/v2' }
  const renamed = { ...kept, headers: [{ ...one, name: 'X-Token' }] }
  for (const draft of [elsewhere, renamed]) {
    expect(webhooksOf([draft])[0]?.headers).not.toMatchObject({ 'X-Key': '***' })
    expect(draftFaults([draft])).toMatchObject([{ code: 'nothing_to_keep' }])
  }
  const typed = { ...elsewhere, headers: [{ ...one, value: 'again' }] }
  expect([draftFaults([typed]), webhooksOf([typed])[0]?.headers]).toEqual([[], { 'X-Key': 'again' }])
  const inCapitals = { ...kept, headers: [{ ...one, name: 'x-key ' }] }
  expect([draftFaults([inCapitals]), webhooksOf([inCapitals])[0]?.headers]).toEqual([[], { 'x-key': '***' }])
})

test.each(['', 'localhost:9001/x', 'ftp://a.example/', '/hook', 'https//a.example'])(
  '%j is seen to be no URL before the API looks at it',
  (url) => {
    expect(draftFaults([webhook(), { ...webhook(), url }])).toMatchObject([
      { pointer: '/webhooks/1/url', code: 'invalid_url' },
    ])
  },
)

test('a URL is what begins with http:// or https://, spaces around it or not', () => {
  for (const url of ['http://localhost:9001/x', ' https://a.example '])
    expect(draftFaults([{ ...webhook(), url }])).toEqual([])
})
