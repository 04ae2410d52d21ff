import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { ConfigError } from '../../config.ts'
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

test('what has not its shape is named, without its user', () => {
  const broken = bytes({ ...suppression, sourceId: 'jane@example.com' })
  const read = () => readSetting('suppression/s1', broken, { keys, kinds: KINDS })
  expect(read).toThrow('suppression/s1')
  expect(read).not.toThrow('jane')
})

test('a key that opens nothing is a fault of the settings, told in one line with the record', () => {
  const record = bytes({ ...source, writeKey: sealed('shop-write-key') })
  const read = () => readSetting('source/shop', record, { keys: [Buffer.alloc(32, 2)], kinds: KINDS })
  expect(read).toThrow(
    new ConfigError([
      'CONFIG_KEY: does not open the secrets of source/shop: set the key that sealed them, too',
    ]),
  )
  expect(read).toThrow(ConfigError)
})

test('destinations from before a rule are read as they are: half a rotation, statuses twice, a secret that is no base64', () => {
  const destination = { id: 'crm', type: 'Webhooks', name: 'CRM', enabled: true, sourceIds: [], ...stamp }
  const webhooks = [{ url: 'https://crm.example', headers: { 'webhook-id': 'mine', 'X-Replay': 'mine' } }]
  const opened = (record: object) =>
    readSetting('destination/crm', bytes(sealedAll(record)), { keys, kinds: KINDS })?.value
  for (const old of [
    { previousSecret: 'old' },
    { previousSecretExpiresAt: '2026-02-01T00:00:00Z' },
    { sharedSecret: 'whsec_!', standardWebhooks: true, retryOn: [429, 429] },
  ])
    expect(opened({ ...destination, webhooks, ...old })).toEqual({ ...destination, webhooks, ...old })
})
