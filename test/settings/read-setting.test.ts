import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readSetting } from '../../settings/read.ts'
import { sealRecord } from '../../settings/seal.ts'
import { KINDS } from '../../settings/settings.ts'
import { acceptingUnsigned, keysOf, recordBefore } from '../helpers/config-keys.ts'

const key = Buffer.alloc(32, 1)
const keys = keysOf(key)
const stamp = { version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
const suppression = { id: 's1', sourceId: '*', userId: 'jane@example.com', ...stamp }
const source = { id: 'shop', name: 'Shop', enabled: true, ...stamp }

const bytes = (record: object) => Buffer.from(JSON.stringify(record))
const signed = (owner: string, record: object) => Buffer.from(sealRecord(owner, record, keys))

test('a record is read by its kind, with its secrets in clear', () => {
  const read = (owner: string, record: object) =>
    readSetting(owner, signed(owner, record), { keys, kinds: KINDS })
  expect(read('suppression/s1', suppression)).toEqual({ kind: 'suppression', value: suppression })
  expect(read('source/shop', { ...source, writeKey: 'shop-write-key' })).toEqual({
    kind: 'source',
    value: { ...source, writeKey: 'shop-write-key' },
  })
})

test('a record of an earlier version is read only with UNSIGNED_SETTINGS=accept and the key that sealed it', () => {
  const value = Buffer.from(recordBefore('source/shop', { ...source, writeKey: 'shop-write-key' }, key))
  const read = (configKeys: typeof keys) =>
    readSetting('source/shop', value, { keys: configKeys, kinds: KINDS })
  expect(read(acceptingUnsigned(key))).toMatchObject({ value: { writeKey: 'shop-write-key' } })
  expect(read(acceptingUnsigned(Buffer.alloc(32, 2), key))).toMatchObject({
    value: { writeKey: 'shop-write-key' },
  })
  expect(read(keys)).toMatchObject({ unread: 'sealed', reason: expect.stringContaining('UNSIGNED_SETTINGS') })
  expect(read(acceptingUnsigned(Buffer.alloc(32, 2)))).toMatchObject({
    unread: 'sealed',
    reason: 'no key in CONFIG_KEY opens its secrets',
  })
})

test('other kinds are not even parsed', () => {
  const asked = { keys, kinds: ['source'] as const }
  expect(readSetting('suppression/s1', Buffer.from('{'), asked)).toBeUndefined()
  expect(readSetting('sources/shop', Buffer.from('{'), asked)).toBeUndefined()
  expect(readSetting('', Buffer.from('{'), asked)).toBeUndefined()
})

test('a record that no key signed is not even parsed: 16 MB of brackets took 2 s, in each process', () => {
  const mac = ',"mac":"0000000000000000000000000000000000000000000"}'
  const read = (text: string) => readSetting('destination/crm', Buffer.from(text), { keys, kinds: KINDS })
  for (const text of ['{"id":[[[[', '{"id":'])
    expect(read(text)).toMatchObject({ unread: 'sealed', reason: expect.stringContaining('no signature') })
  expect(read(`{"id":[[[[${mac}`)).toMatchObject({
    unread: 'sealed',
    reason: expect.stringContaining('not signed'),
  })
  expect(read('[[[[')).toMatchObject({ unread: 'malformed' })
})

describe('a record that cannot be read says why, without its secrets and users:', () => {
  const read = (owner: string, text: string, configKeys = acceptingUnsigned(key)) =>
    readSetting(owner, Buffer.from(text), { keys: configKeys, kinds: KINDS })
  const printed = (record: object) => JSON.stringify(record)

  test.each([
    ['no JSON', 'source/shop', '{"id":"sh', 'it is not a JSON object'],
    ['JSON that is no object', 'source/shop', 'null', 'it is not a JSON object'],
    [
      'not its shape',
      'suppression/s1',
      printed({ ...suppression, sourceId: 'jane@example.com' }),
      'sourceId: ',
    ],
    ['the key of another', 'suppression/s2', printed(suppression), 'its id does not match its key'],
    [
      'webhooks that are none',
      'destination/crm',
      '{"webhooks":[null]}',
      'it does not have the shape of its kind',
    ],
    ['a field of a newer version', 'suppression/s1', printed({ ...suppression, until: 'then' }), 'until'],
  ])('%s', (_what, owner, text, reason) => {
    expect(read(owner, text)).toMatchObject({ unread: 'malformed', reason: expect.stringContaining(reason) })
    expect(printed(read(owner, text) ?? {})).not.toContain('jane')
  })

  test('a record signed with another key, or as another record', () => {
    const reason = 'it is not signed with any key in CONFIG_KEY'
    const written = sealRecord('source/shop', { ...source, writeKey: 'shop-write-key' }, keys)
    expect(read('source/shop', written, keysOf(Buffer.alloc(32, 2)))).toMatchObject({
      unread: 'sealed',
      reason,
    })
    expect(read('source/other', written)).toMatchObject({ unread: 'sealed', reason })
  })

  test.each([
    ['{"not":', '}'],
    ['{"all":[', ']}'],
  ])('a filter of 1,000 or 100,000 levels (%s), which ended each process', (open, close) => {
    for (const levels of [1_000, 100_000]) {
      const filter = `${open.repeat(levels)}{}${close.repeat(levels)}`
      const text = `{"id":"crm","enabled":true,"sourceIds":[],"rules":{"filter":${filter}}}`
      expect(read('destination/crm', text)).toMatchObject({ reason: 'it is nested too deeply' })
    }
  })

  test('and no bytes make it throw', () => {
    const anyJson = fc.json().map((text) => Buffer.from(text))
    const anyBytes = fc.uint8Array().map((each) => Buffer.from(each))
    const anyObject = fc
      .dictionary(fc.constantFrom('webhooks', 'writeKey', 'headers', 'id', 'sourceIds'), fc.jsonValue())
      .map((record) => Buffer.from(printed(record)))
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.oneof(anyJson, anyBytes, anyObject), (kind, value) => {
        for (const configKeys of [keys, acceptingUnsigned(key)])
          expect(readSetting(`${kind}/x`, value, { keys: configKeys, kinds: KINDS })).toHaveProperty('unread')
      }),
    )
  })
})

describe('of a destination that cannot be read', () => {
  const webhooks = [{ url: 'https://crm.example', headers: { 'X-Team': 'not sealed' } }]
  const crm = { id: 'crm', enabled: true, sourceIds: ['shop'], eventTypes: ['page'], webhooks }
  const outlineOf = (record: object, value = signed('destination/crm', record)) => {
    const read = readSetting('destination/crm', value, { keys, kinds: KINDS })
    return read && 'unread' in read ? read.outline : expect.fail('it can be read')
  }

  test('its sources are known, if they can be read', () => {
    expect(outlineOf(crm)).toEqual({ id: 'crm', enabled: true, sourceIds: ['shop'], eventTypes: ['page'] })
    expect(outlineOf({ ...crm, sourceIds: 'shop' })).toBeUndefined()
    expect(outlineOf({ ...crm, enabled: undefined })).toBeUndefined()
    expect(outlineOf({ ...crm, eventTypes: ['a newer one'] })).toBeUndefined()
  })

  test('nothing is known if no key signed it: anyone could connect the sources of others', () => {
    expect(outlineOf(crm, bytes(crm))).toBeUndefined()
    const elsewhere = sealRecord('destination/crm', crm, keysOf(Buffer.alloc(32, 2)))
    expect(outlineOf(crm, Buffer.from(elsewhere))).toBeUndefined()
  })
})

test('destinations from before a rule are read unchanged: half a rotation, repeated statuses, a secret that is not base64', () => {
  const destination = { id: 'crm', type: 'Webhooks', name: 'CRM', enabled: true, sourceIds: [], ...stamp }
  const webhooks = [{ url: 'https://crm.example', headers: { 'webhook-id': 'mine', 'X-Replay': 'mine' } }]
  const opened = (record: object) =>
    readSetting('destination/crm', signed('destination/crm', record), { keys, kinds: KINDS })
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
