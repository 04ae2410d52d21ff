import { expect, test } from 'vitest'
import {
  draftOf,
  headerFaults,
  newHeader,
  newWebhook,
  webhooksOf,
} from '../../console/src/views/webhooks/draft.ts'
import { destinationShape } from '../../schemas/settings.ts'

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
  expect(headerFaults([webhook(), webhook(header('X-Team'), header('x-team '))])).toEqual([
    {
      pointer: '/webhooks/1/headers/x-team',
      code: 'duplicate_header',
      message: 'this header is there already: leave one out',
    },
  ])
})

test('a header without a name is named, and one with a name is in order', () => {
  expect(headerFaults([webhook(header('X-Team'), header(' '))])).toMatchObject([{ code: 'required' }])
})
