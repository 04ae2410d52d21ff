import { expect, test } from 'vitest'
import { emptyDraft, givenBy, isSame, nameOf, storedDraft } from '../../console/src/views/set-up/draft.ts'
import { newWebhook } from '../../console/src/views/webhooks/draft.ts'
import { destinationShape } from '../../settings/settings.ts'

const to = (url: string) => [{ ...newWebhook(), url }]

test('unless another is given, a destination is called after the host that it goes to', () => {
  expect(nameOf(emptyDraft())).toBe('Webhooks')
  expect(nameOf({ name: undefined, webhooks: to(' https://crm.example/hook ') })).toBe('crm.example')
  expect(nameOf({ name: '', webhooks: to('https://crm.example/hook') })).toBe('')
})

test('what is saved is what was typed: whatever is changed afterwards is to be saved again', () => {
  const saved = { ...emptyDraft(), sourceIds: ['shop'], webhooks: to('https://crm.example/a'), secret: 's' }
  expect(isSame(saved, { ...saved, webhooks: to('https://crm.example/a') })).toBe(true)
  for (const changed of [
    { webhooks: to('https://crm.example/b') },
    { secret: '' },
    { sourceIds: [] },
    { name: 'CRM' },
  ])
    expect(isSame(saved, { ...saved, ...changed })).toBe(false)
})

test('of a destination that is there already its secret and its headers are kept, unless others are typed', () => {
  const webhooks = [{ url: 'https://crm.example/a', headers: { 'X-Key': '***' } }]
  const stored = storedDraft({
    ...{ type: 'Webhooks', id: 'crm', name: 'CRM', enabled: false, version: 1, updatedAt: '' },
    ...{ sourceIds: ['shop'], webhooks, sharedSecret: '***' },
  })
  expect(givenBy(stored)).toEqual({ name: 'CRM', sourceIds: ['shop'], webhooks, sharedSecret: '***' })
  expect(givenBy({ ...stored, secret: 'another' }).sharedSecret).toBe('another')
  expect(givenBy({ ...stored, hasSecret: false })).not.toHaveProperty('sharedSecret')
})

test('the API takes it', () => {
  const draft = { ...emptyDraft(), sourceIds: ['shop'], webhooks: to('https://crm.example/a') }
  expect(destinationShape.parse(givenBy(draft))).toMatchObject({ name: 'crm.example', sourceIds: ['shop'] })
})
