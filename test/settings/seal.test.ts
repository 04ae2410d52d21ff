import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DERIVED_ROLES, derivedKeys, keysFor, parseConfigKey } from '../../settings/config-key.ts'
import { readSetting } from '../../settings/read.ts'
import { type ConfigKeys, deriveKey, sealRecord, verify } from '../../settings/seal.ts'
import { KINDS } from '../../settings/settings.ts'
import { acceptingUnsigned, keysOf, recordBefore } from '../helpers/config-keys.ts'

const configKey = Buffer.alloc(32, 1)
const keys = keysOf(configKey)
const stamp = { version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
const crm = {
  id: 'crm',
  type: 'Webhooks',
  name: 'CRM',
  enabled: true,
  sourceIds: ['shop'],
  webhooks: [
    { url: 'https://crm.example/hook', headers: { 'X-Team': 'header-secret', 'X-Two': 'other-secret' } },
    { url: 'https://backup.example/hook', headers: { 'X-Team': 'backup-secret' } },
  ],
  sharedSecret: 'shared-secret',
  ...stamp,
}
const shop = { id: 'shop', name: 'Shop', writeKey: 'shop-write-key', enabled: true, ...stamp }
const OWNER = 'destination/crm'
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

type Sealed = typeof crm & { mac?: string }
const sealedCrm = () => JSON.parse(sealRecord(OWNER, crm, keys)) as Sealed
const read = (owner: string, value: string, configKeys: ConfigKeys = keys) =>
  readSetting(owner, Buffer.from(value), { keys: configKeys, kinds: KINDS })

describe('whoever may write the topic, but has no key, cannot', () => {
  const elsewhere = 'https://mallory.example/hook'
  const edits: [string, (record: Sealed) => object][] = [
    ['send to another URL', (record) => withUrl(record, elsewhere)],
    ['add a URL', (record) => ({ ...record, webhooks: [...record.webhooks, { url: elsewhere }] })],
    ['switch it off', (record) => ({ ...record, enabled: false })],
    ['connect another source', (record) => ({ ...record, sourceIds: ['other'] })],
    ['put one secret in the place of another', swapHeaders],
    ['add a field', (record) => ({ ...record, retryOn: [429] })],
  ]

  test.each(edits)('%s', (_what, edit) => {
    const { mac, ...record } = edit(sealedCrm()) as Sealed
    expect(read(OWNER, JSON.stringify({ ...record, mac }))).toHaveProperty('unread', 'sealed')
    // without the signature, too
    expect(read(OWNER, JSON.stringify(record))).toHaveProperty('unread', 'sealed')
  })

  test('move a record to the key of another', () => {
    const written = sealRecord('source/shop', shop, keys)
    expect(read('source/shop', written)).toMatchObject({ value: shop })
    expect(read('source/stop', written)).toHaveProperty('unread', 'sealed')
    expect(read('source/stop', written.replace('"shop"', '"stop"'))).toHaveProperty('unread', 'sealed')
  })

  test('write a record without secrets', () => {
    const open = { ...crm, webhooks: [{ url: elsewhere, headers: {} }], sharedSecret: undefined }
    expect(read(OWNER, JSON.stringify(open))).toHaveProperty('unread', 'sealed')
    expect(
      read('suppression/s1', JSON.stringify({ id: 's1', sourceId: '*', userId: 'u1', ...stamp })),
    ).toHaveProperty('unread', 'sealed')
  })

  test('repeat a field', () => {
    const written = sealRecord(OWNER, crm, keys)
    expect(read(OWNER, `{"enabled":false,${written.slice(1)}`)).toHaveProperty('unread', 'sealed')
    expect(read(OWNER, written.replace(',"mac"', ',"enabled":false,"mac"'))).toHaveProperty(
      'unread',
      'sealed',
    )
  })

  test('spell the signature differently', () => {
    const written = sealRecord(OWNER, crm, keys)
    const last = written.at(-3) ?? ''
    // of the last character, base64 uses four bits of six
    const index = BASE64URL.indexOf(last)
    for (const other of [1, 2, 3].map((bits) => BASE64URL[index ^ bits]))
      expect(read(OWNER, `${written.slice(0, -3)}${other}"}`)).toHaveProperty('unread', 'sealed')
  })

  test('change any one character', () => {
    const written = sealRecord(OWNER, crm, keys)
    fc.assert(
      fc.property(fc.nat(written.length - 1), fc.constantFrom('0', 'A', '"', ',', ' '), (at, letter) => {
        fc.pre(written[at] !== letter)
        const changed = written.slice(0, at) + letter + written.slice(at + 1)
        expect(read(OWNER, changed)).toHaveProperty('unread')
      }),
    )
  })
})

describe('while UNSIGNED_SETTINGS is accept', () => {
  const upgrading = acceptingUnsigned(configKey)

  test('a secret of a signed record does not open in an unsigned one, wherever it is put', () => {
    const { mac: _, ...record } = sealedCrm()
    const moved = [
      withUrl(record, 'https://mallory.example/hook'),
      swapHeaders(record),
      { ...record, sharedSecret: record.webhooks[0]?.headers['X-Team'] },
      { ...record, webhooks: record.webhooks.toReversed() },
    ]
    for (const each of moved)
      expect(read(OWNER, JSON.stringify(each), upgrading)).toMatchObject({
        reason: 'no key in CONFIG_KEY opens its secrets',
      })
  })

  test('a secret sealed by an earlier version opens only in its own record', () => {
    const before = recordBefore('source/shop', shop, configKey)
    expect(read('source/shop', before, upgrading)).toMatchObject({ value: shop })
    expect(read('source/stop', before.replace('"shop"', '"stop"'), upgrading)).toHaveProperty('unread')
  })

  test('a secret sealed by an earlier version does not open in a signed record', () => {
    const before = JSON.parse(recordBefore('source/shop', shop, configKey)) as object
    expect(read('source/shop', signed('source/shop', before), upgrading)).toHaveProperty('unread')
  })
})

describe('keys derived for one role', () => {
  const values = {
    source: sealRecord('source/shop', shop, keys),
    destination: sealRecord(OWNER, crm, keys),
  }
  const ofRole = (role: (typeof DERIVED_ROLES)[number]) => {
    const parsed = parseConfigKey(derivedKeys(role, configKey))
    return keysFor(role, parsed ? [parsed] : [], false)
  }
  const opened = (role: (typeof DERIVED_ROLES)[number]) =>
    JSON.stringify([
      read('source/shop', values.source, ofRole(role)),
      read(OWNER, values.destination, ofRole(role)),
    ])

  test('read every record, but open only the secrets of that role', () => {
    for (const role of DERIVED_ROLES) expect(opened(role)).not.toContain('unread')
    expect(opened('ingest')).toContain('shop-write-key')
    expect(opened('ingest')).not.toMatch(/shared-secret|header-secret/)
    expect(opened('router')).not.toMatch(/shop-write-key|shared-secret|header-secret/)
    for (const secret of ['shared-secret', 'header-secret', 'other-secret', 'backup-secret'])
      expect(opened('deliverer')).toContain(secret)
    expect(opened('deliverer')).not.toContain('shop-write-key')
  })

  test('can sign records, but cannot open a secret that was moved elsewhere', () => {
    const { mac: _, ...record } = sealedCrm()
    const elsewhere = 'https://mallory.example/hook'
    const header = record.webhooks[0]?.headers['X-Team']
    const moved: [string, object][] = [
      [OWNER, withUrl(record, elsewhere)],
      [
        OWNER,
        { ...record, webhooks: [...record.webhooks, { url: elsewhere, headers: { 'X-Team': header } }] },
      ],
      [OWNER, { ...record, webhooks: record.webhooks.toReversed() }],
      [OWNER, swapHeaders(record)],
      [OWNER, { ...record, sharedSecret: header }],
      [OWNER, { ...record, previousSecret: record.sharedSecret }],
      ['destination/mine', { ...record, id: 'mine' }],
    ]
    for (const [owner, each] of moved)
      expect(read(owner, signed(owner, each), ofRole('deliverer'))).toMatchObject({
        reason: 'no key in CONFIG_KEY opens its secrets',
      })
    expect(read(OWNER, signed(OWNER, record), ofRole('deliverer'))).toHaveProperty('kind')
  })

  test('contain no keys of other roles, nor CONFIG_KEY', () => {
    const holds = (role: (typeof DERIVED_ROLES)[number], key: Buffer) =>
      derivedKeys(role, configKey).includes(key.toString('base64url'))
    for (const role of DERIVED_ROLES) {
      expect(holds(role, configKey)).toBe(false)
      expect(holds(role, deriveKey(configKey, 'sessions'))).toBe(false)
      expect(holds(role, deriveKey(configKey, 'destinations'))).toBe(role === 'deliverer')
      expect(holds(role, deriveKey(configKey, 'sources'))).toBe(role === 'ingest')
      expect(holds(role, deriveKey(configKey, 'hashKeys'))).toBe(role === 'router')
    }
  })

  test('and a whole CONFIG_KEY give a role only what it needs', () => {
    const whole = keysFor('router', [{ whole: configKey }], false)
    expect(whole).toEqual({
      records: [deriveKey(configKey, 'records')],
      hashKeys: [deriveKey(configKey, 'hashKeys')],
      before: [],
      takesUnsigned: false,
    })
    expect(whole).toEqual(ofRole('router'))
  })

  test.each([
    'ingest',
    'ingest.',
    `ingest.${'A'.repeat(43)}`,
    `router.${'A'.repeat(43)}.${'A'.repeat(43)}.${'A'.repeat(43)}`,
    `control.${'A'.repeat(43)}`,
    `router.${'A'.repeat(42)}`,
    '',
  ])('%j is neither a key nor keys of a role', (text) => {
    expect(parseConfigKey(text)).toBeUndefined()
  })
})

/** As any process could: all have this key. */
function signed(owner: string, record: object): string {
  const text = JSON.stringify(record).slice(0, -1)
  const mac = createHmac('sha256', deriveKey(configKey, 'records')).update(`${owner}\n${text}`)
  return `${text},"mac":"${mac.digest('base64url')}"}`
}

const withUrl = (record: object & Pick<Sealed, 'webhooks'>, url: string) => ({
  ...record,
  webhooks: record.webhooks.map((webhook) => ({ ...webhook, url })),
})

function swapHeaders<T extends Pick<Sealed, 'webhooks'>>(record: T): T {
  const [first, ...others] = record.webhooks
  const { 'X-Team': team, 'X-Two': two } = first?.headers ?? {}
  return { ...record, webhooks: [{ ...first, headers: { 'X-Team': two, 'X-Two': team } }, ...others] }
}

test('a record is old if it is signed with another key than the first', () => {
  const [old, first] = [deriveKey(Buffer.alloc(32, 2), 'records'), deriveKey(configKey, 'records')]
  const written = sealRecord('source/shop', shop, keys)
  expect(verify('source/shop', written, { records: [first, old] })).toMatchObject({ isOld: false })
  expect(verify('source/shop', written, { records: [old, first] })).toMatchObject({ isOld: true })
  expect(verify('source/shop', written, { records: [old] })).toBe('forged')
})
