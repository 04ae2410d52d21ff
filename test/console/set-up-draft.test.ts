import { expect, test } from 'vitest'
import {
  destinationName,
  draftFromDestination,
  emptyDraft,
  isEqual,
  toDestination,
} from '../../console/src/views/set-up/draft.ts'
import { newWebhook } from '../../console/src/views/webhooks/draft.ts'
import { destinationShape } from '../../settings/settings.ts'

const to = (url: string) => [{ ...newWebhook(), url }]

test('the default name of a destination is the host of its first URL', () => {
  expect(destinationName(emptyDraft())).toBe('Webhooks')
  expect(destinationName({ name: undefined, webhooks: to(' https://crm.example/hook ') })).toBe('crm.example')
  expect(destinationName({ name: '', webhooks: to('https://crm.example/hook') })).toBe('')
})

test('every change makes a draft unequal to the saved one', () => {
  const saved = { ...emptyDraft(), sourceIds: ['shop'], webhooks: to('https://crm.example/a'), secret: 's' }
  expect(isEqual(saved, { ...saved, webhooks: to('https://crm.example/a') })).toBe(true)
  for (const changed of [
    { webhooks: to('https://crm.example/b') },
    { secret: '' },
    { sourceIds: [] },
    { name: 'CRM' },
  ])
    expect(isEqual(saved, { ...saved, ...changed })).toBe(false)
})

test('a stored destination keeps its secret and headers unless new ones are typed', () => {
  const webhooks = [{ url: 'https://crm.example/a', headers: { 'X-Key': '***' } }]
  const stored = draftFromDestination({
    ...{ type: 'Webhooks', id: 'crm', name: 'CRM', enabled: false, version: 1, updatedAt: '' },
    ...{ sourceIds: ['shop'], webhooks, sharedSecret: '***' },
  })
  expect(toDestination(stored)).toEqual({ name: 'CRM', sourceIds: ['shop'], webhooks, sharedSecret: '***' })
  expect(toDestination({ ...stored, secret: 'another' }).sharedSecret).toBe('another')
  expect(toDestination({ ...stored, hasSecret: false })).not.toHaveProperty('sharedSecret')
})

test('a new secret signs by Standard Webhooks too, unless the user or the stored destination says otherwise', () => {
  const signed = { ...emptyDraft(), webhooks: to('https://crm.example/a'), secret: 's' }
  expect(toDestination(signed)).toMatchObject({ sharedSecret: 's', standardWebhooks: true })
  expect(toDestination({ ...signed, scheme: 'sha1' })).not.toHaveProperty('standardWebhooks')
  expect(toDestination({ ...signed, secret: '' })).not.toHaveProperty('standardWebhooks')
  const stored = {
    ...{ type: 'Webhooks' as const, id: 'crm', name: 'CRM', enabled: false, version: 1, updatedAt: '' },
    ...{ sourceIds: ['shop'], webhooks: [] },
  }
  const schemeOf = (more: object) => draftFromDestination({ ...stored, ...more }).scheme
  expect(schemeOf({})).toBe('standard')
  expect(schemeOf({ sharedSecret: '***' })).toBe('sha1')
  expect(schemeOf({ sharedSecret: '***', standardWebhooks: true })).toBe('standard')
  expect(schemeOf({ standardWebhooks: false })).toBe('sha1')
})

test('a destination stays in its workspace', () => {
  const draft = {
    ...emptyDraft(),
    sourceIds: ['shop'],
    webhooks: to('https://crm.example/a'),
    workspaceId: 'acme',
  }
  expect(destinationShape.parse(toDestination(draft)).workspaceId).toBe('acme')
  expect(toDestination(emptyDraft())).not.toHaveProperty('workspaceId')
  const stored = {
    type: 'Webhooks' as const,
    id: 'crm',
    name: 'CRM',
    enabled: false,
    version: 1,
    updatedAt: '',
  }
  const again = draftFromDestination({ ...stored, sourceIds: [], webhooks: [], workspaceId: 'acme' })
  expect(toDestination(again).workspaceId).toBe('acme')
})

test('the API accepts a draft', () => {
  const draft = { ...emptyDraft(), sourceIds: ['shop'], webhooks: to('https://crm.example/a') }
  expect(destinationShape.parse(toDestination(draft))).toMatchObject({
    name: 'crm.example',
    sourceIds: ['shop'],
  })
})
