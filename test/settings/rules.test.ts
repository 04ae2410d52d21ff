import { describe, expect, test } from 'vitest'
import { changesOf } from '../../control/settings/changes.ts'
import { derivedKeys, keysFor, parseConfigKey, type Role } from '../../settings/config-key.ts'
import { mask } from '../../settings/mask.ts'
import { readSetting } from '../../settings/read.ts'
import { create, type Decided, replace } from '../../settings/resources/decide.ts'
import { destinations } from '../../settings/resources/destinations.ts'
import { type ConfigKeys, deriveKey, sealRecord } from '../../settings/seal.ts'
import { createState } from '../../settings/state.ts'
import { crm, factsOf, faults, made, now, shop, unreachable } from '../control/in-memory.ts'
import { keysOf } from '../helpers/config-keys.ts'
import { aDestination } from '../helpers/events.ts'

const at = { now, made, unreachable }
const redact = [{ path: 'userId', as: 'hash' as const }]
const filter = { path: 'event', eq: 'Paid' }
const HASH_KEY = 'a-hash-key-of-this-test'

describe('the hash key of a destination', () => {
  const body = { name: 'Partner', webhooks: [{ url: 'https://partner.example/hook' }] }
  const created = (more: object) =>
    recordOf(create(destinations, { ...at, body: { ...body, ...more } }, factsOf({})))
  const replaced = (more: object) => {
    const old = aDestination({ id: 'crm', version: 2, rules: { redact }, hashKey: HASH_KEY })
    const facts = factsOf({ destinations: [old] })
    return recordOf(
      replace(destinations, { ...at, id: 'crm', version: 2, body: { ...body, ...more } }, facts),
    )
  }

  test('is generated if the rules redact and there is none', () => {
    expect(created({ rules: { redact } })).toMatchObject({ hashKey: 'made-hash-key' })
    expect(created({ rules: { redact }, hashKey: HASH_KEY })).toMatchObject({ hashKey: HASH_KEY })
    expect(created({ rules: { filter } })).not.toHaveProperty('hashKey')
    expect(created({})).not.toHaveProperty('hashKey')
  })

  test('stays even without rules, so pseudonyms stay the same', () => {
    expect(replaced({ rules: { redact } })).toMatchObject({ hashKey: HASH_KEY })
    expect(replaced({ rules: { redact }, hashKey: '***' })).toMatchObject({ hashKey: HASH_KEY })
    expect(replaced({ rules: { filter } })).toMatchObject({ hashKey: HASH_KEY })
    expect(replaced({ rules: { redact }, hashKey: 'another-key-of-this-test' })).toMatchObject({
      hashKey: 'another-key-of-this-test',
    })
    expect(replaced({})).toMatchObject({ hashKey: HASH_KEY })
  })

  test('cannot be short, because it could be guessed', () => {
    const made = (hashKey: string) =>
      create(destinations, { ...at, body: { ...body, rules: { redact }, hashKey } }, factsOf({}))
    expect(faults(made('k'.repeat(15)))).toEqual(['/hashKey too_short'])
    expect(made('k'.repeat(16))).toHaveProperty('record')
  })

  test('is sealed under a key that only router and control have', () => {
    const written = Buffer.from(
      sealRecord(
        'destination/crm',
        { ...aDestination(), rules: { redact }, hashKey: HASH_KEY, sharedSecret: 's3cret' },
        keys,
      ),
    )
    const opened = (role: Role) => {
      const text = role === 'control' ? CONFIG_KEY.toString('base64') : derivedKeys(role, CONFIG_KEY)
      const parsed = parseConfigKey(text)
      return JSON.stringify(read(written, keysFor(role, parsed ? [parsed] : [], false)))
    }
    expect(written.toString()).not.toContain(HASH_KEY)
    expect(opened('control')).toContain(HASH_KEY)
    expect(opened('router')).toContain(HASH_KEY)
    expect(opened('router')).not.toContain('s3cret')
    for (const role of ['ingest', 'deliverer'] as const) {
      expect(opened(role)).toContain('"kind":"destination"')
      expect(opened(role)).not.toContain(HASH_KEY)
    }
  })

  test('cannot be decrypted with a router key from an earlier version, so nothing is sent unredacted', () => {
    const before = parseConfigKey(`router.${deriveKey(CONFIG_KEY, 'records').toString('base64url')}`)
    const old = keysFor('router', before ? [before] : [], false)
    const of = (record: object) => read(Buffer.from(sealRecord('destination/crm', record, keys)), old)
    expect(of({ ...aDestination(), rules: { redact }, hashKey: HASH_KEY })).toMatchObject({
      unread: 'sealed',
      outline: { id: 'crm', hasUnreadRules: true },
    })
    expect(of(aDestination())).toHaveProperty('kind', 'destination')
  })
})

const CONFIG_KEY = Buffer.alloc(32, 1)
const keys = keysOf(CONFIG_KEY)
const read = (value: Buffer, configKeys: ConfigKeys) =>
  readSetting('destination/crm', value, { keys: configKeys, kinds: ['destination'] })

function recordOf(decided: Decided<object>): object {
  return 'refusal' in decided
    ? expect.fail(JSON.stringify(decided.refusal))
    : (decided.record ?? expect.fail('removed'))
}

test('all faults of new rules are reported at once, with their places', () => {
  const rules = {
    filter: {
      all: [
        { path: 'properties..total', gte: 1 },
        { path: 'event', matches: '(' },
      ],
    },
    redact: [{ path: 'messageId', as: 'hash' }],
    shape: { text: '{{userId | shout}}' },
  }
  const body = { name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }], rules, colour: 'red' }
  expect(faults(create(destinations, { ...at, body }, factsOf({ sources: [shop] }))).toSorted()).toEqual([
    '/colour unknown_field',
    '/rules/filter/all/0/path invalid_path',
    '/rules/filter/all/1/matches invalid_pattern',
    '/rules/redact/0/path invalid_value',
    '/rules/shape/text invalid_placeholder',
  ])
})

test('a part of rules that does not fit its shape does not hide the faults of the others', () => {
  const rules = {
    filter: { event: 'Paid' },
    redact: [{ path: 'messageId', as: 'hash' }],
    shape: { text: '{{userId | shout}}' },
    transform: 'x',
  }
  const body = { name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }], rules }
  expect(faults(create(destinations, { ...at, body }, factsOf({ sources: [shop] }))).toSorted()).toEqual([
    '/rules/filter/event unknown_field',
    '/rules/redact/0/path invalid_value',
    '/rules/shape/text invalid_placeholder',
    '/rules/transform unknown_field',
  ])
})

test('the view token sees rules, but no strings of a shape: they can contain an API key', () => {
  const shape = { routing_key: 'a-secret', event_action: 'trigger', list: ['x', 1, { deep: 'y' }] }
  const record = { ...crm, rules: { filter, shape } }
  expect(mask(record, 'view').rules).toEqual({
    filter,
    shape: { routing_key: '***', event_action: '***', list: ['***', 1, { deep: '***' }] },
  })
  expect(mask(record, 'admin').rules).toEqual({ filter, shape })
})

test('the audit log names the rules that change, but no values in them', () => {
  const before = { rules: { filter: { all: [filter] }, shape: { key: 'secret-1' }, sample: { rate: 0.5 } } }
  const after = {
    rules: {
      filter: { all: [{ path: 'userId', eq: 'ann' }] },
      shape: { key: 'secret-2' },
      sample: { rate: 1 },
      redact,
    },
    hashKey: HASH_KEY,
  }
  expect(changesOf(before, after)).toEqual({
    '/rules/filter/all/0/path': { from: 'event', to: 'userId' },
    '/rules/filter/all/0/eq': 'changed',
    '/rules/shape/key': 'changed',
    '/rules/sample/rate': { from: 0.5, to: 1 },
    '/rules/redact/0/path': { to: 'userId' },
    '/rules/redact/0/as': { to: 'hash' },
    '/hashKey': 'changed',
  })
})

describe("while a destination's record cannot be read", () => {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined }

  /** The last record may be unreadable. */
  function routed(...records: object[]) {
    const { index, apply } = createState({ keys, kinds: ['destination'], log: log as never })
    for (const record of records)
      apply('destination/crm', Buffer.from(sealRecord('destination/crm', record, keys)))
    const [outline] = index.destinationsOf('shop')
    return { outline, hasUnreadRules: index.hasUnreadRules('crm') }
  }
  const newer = { fieldOfANewerVersion: true }

  test('its events are not sent if it has rules, because they might redact', () => {
    const { outline, hasUnreadRules } = routed({ ...aDestination(), rules: { filter }, ...newer })
    expect([outline?.hasUnreadRules, hasUnreadRules]).toEqual([true, true])
    const strange = routed({ ...aDestination(), rules: { ofANewerVersion: true } })
    expect(strange.outline?.hasUnreadRules).toBe(true)
  })

  test('they are not sent by the previous rules if the rules have changed', () => {
    const rules = { redact }
    for (const before of [{}, { rules: { filter } }]) {
      const { outline, hasUnreadRules } = routed(
        { ...aDestination(), ...before },
        { ...aDestination(), rules, ...newer },
      )
      expect([outline?.id, outline?.hasUnreadRules, hasUnreadRules]).toEqual(['crm', true, true])
    }
  })

  test('they are sent as before if the rules are unchanged or there are none', () => {
    const rules = { filter }
    const same = routed({ ...aDestination(), rules }, { ...aDestination(), rules, ...newer })
    expect([same.outline?.rules, same.hasUnreadRules]).toEqual([rules, false])
    expect(routed(aDestination(), { ...aDestination(), ...newer }).hasUnreadRules).toBe(false)
    expect(routed({ ...aDestination(), ...newer })).toMatchObject({
      outline: { id: 'crm' },
      hasUnreadRules: false,
    })
  })

  test('a readable record ends this', () => {
    const rules = { redact }
    const end = routed(
      aDestination(),
      { ...aDestination(), rules, ...newer },
      { ...aDestination(), rules: { filter } },
    )
    expect([end.outline?.rules, end.hasUnreadRules]).toEqual([{ filter }, false])
  })
})
