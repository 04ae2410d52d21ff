import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSetting } from '../../schemas/read-setting.ts'
import { mapSecrets, seal } from '../../schemas/seal.ts'
import { KINDS } from '../../schemas/settings.ts'

const keys = [Buffer.alloc(32, 1)]
const stamp = { version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
const suppression = { id: 's1', sourceId: '*', userId: 'jane@example.com', ...stamp }
const source = { id: 'shop', name: 'Shop', enabled: true, ...stamp }

const bytes = (record: object) => Buffer.from(JSON.stringify(record))
const sealed = (text: string, owner = 'source/shop') => seal(text, { keys, nonce: randomBytes(12), owner })
const sealedAll = (record: object) => mapSecrets(record, (text) => sealed(text, 'destination/crm'))

test('a record is read by its kind, what is sealed in clear', () => {
  const read = (key: string, record: object) => readSetting(key, bytes(record), { keys, kinds: KINDS })
  expect(read('suppression/s1', suppression)).toEqual({ kind: 'suppression', value: suppression })
  expect(read('source/shop', { ...source, writeKey: sealed('shop-write-key') })).toEqual({
    kind: 'source',
    value: { ...source, writeKey: 'shop-write-key' },
  })
})

test('kinds that are not asked for are not even parsed', () => {
  const asked = { keys, kinds: ['source'] as const }
  expect(readSetting('suppression/s1', Buffer.from('{'), asked)).toBeUndefined()
  expect(readSetting('sources/shop', Buffer.from('{'), asked)).toBeUndefined()
  expect(readSetting('', Buffer.from('{'), asked)).toBeUndefined()
})

describe('a record that cannot be read says why, without its secrets and users:', () => {
  const read = (key: string, text: string, key32 = keys) =>
    readSetting(key, Buffer.from(text), { keys: key32, kinds: KINDS })
  const printed = (record: object) => JSON.stringify(record)

  test.each([
    ['no JSON', 'source/shop', '{"id":"sh', 'it is no JSON object'],
    ['JSON that is no object', 'source/shop', 'null', 'it is no JSON object'],
    [
      'not its shape',
      'suppression/s1',
      printed({ ...suppression, sourceId: 'jane@example.com' }),
      'sourceId: ',
    ],
    ['the key of another', 'suppression/s2', printed(suppression), 'its id is not that of its key'],
    ['webhooks that are none', 'destination/crm', '{"webhooks":[null]}', 'it has not the shape of its kind'],
    ['a field of a newer version', 'suppression/s1', printed({ ...suppression, until: 'then' }), 'until'],
  ])('%s', (_what, key, text, reason) => {
    expect(read(key, text)).toMatchObject({ unread: 'malformed', reason: expect.stringContaining(reason) })
    expect(printed(read(key, text) ?? {})).not.toContain('jane')
  })

  test('secrets that no key opens, or that are those of another record', () => {
    const reason = 'no key of CONFIG_KEY opens its secrets'
    const record = printed({ ...source, writeKey: sealed('shop-write-key') })
    expect(read('source/shop', record, [Buffer.alloc(32, 2)])).toMatchObject({ unread: 'sealed', reason })
    const moved = printed({ ...source, writeKey: sealed('shop-write-key', 'source/other') })
    expect(read('source/shop', moved)).toMatchObject({ unread: 'sealed', reason })
  })

  test('and whatever the bytes are, nothing is thrown', () => {
    const anyJson = fc.json().map((text) => Buffer.from(text))
    const anyBytes = fc.uint8Array().map((each) => Buffer.from(each))
    const anyObject = fc
      .dictionary(fc.constantFrom('webhooks', 'writeKey', 'headers', 'id', 'sourceIds'), fc.jsonValue())
      .map((record) => Buffer.from(printed(record)))
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.oneof(anyJson, anyBytes, anyObject), (kind, value) => {
        expect(readSetting(`${kind}/x`, value, { keys, kinds: KINDS })).toHaveProperty('unread')
      }),
    )
  })
})

describe('of a destination that cannot be read', () => {
  const webhooks = [{ url: 'https://crm.example', headers: { 'X-Team': 'not sealed' } }]
  const crm = { id: 'crm', enabled: true, sourceIds: ['shop'], eventTypes: ['page'], webhooks }
  const outlineOf = (record: object) => {
    const read = readSetting('destination/crm', bytes(record), { keys, kinds: KINDS })
    return read && 'unread' in read ? read.outline : expect.fail('it can be read')
  }

  test('where its events come from is told, if that is there', () => {
    expect(outlineOf(crm)).toEqual({ id: 'crm', enabled: true, sourceIds: ['shop'], eventTypes: ['page'] })
    expect(outlineOf({ ...crm, sourceIds: 'shop' })).toBeUndefined()
    expect(outlineOf({ ...crm, enabled: undefined })).toBeUndefined()
    expect(outlineOf({ ...crm, eventTypes: ['a newer one'] })).toBeUndefined()
  })
})

test('destinations from before a rule are read as they are: half a rotation, statuses twice, a secret that is no base64', () => {
  const destination = { id: 'crm', type: 'Webhooks', name: 'CRM', enabled: true, sourceIds: [], ...stamp }
  const webhooks = [{ url: 'https://crm.example', headers: { 'webhook-id': 'mine', 'X-Replay': 'mine' } }]
  const opened = (record: object) =>
    readSetting('destination/crm', bytes(sealedAll(record)), { keys, kinds: KINDS })
  for (const old of [
    { previousSecret: 'old' },
    { previousSecretExpiresAt: '2026-02-01T00:00:00Z' },
    { sharedSecret: 'whsec_!', standardWebhooks: true, retryOn: [429, 429] },
  ])
    expect(opened({ ...destination, webhooks, ...old })).toEqual({
      kind: 'destination',
      value: { ...destination, webhooks, ...old },
    })
})
