import fc from 'fast-check'
import type { Exported } from '../../cli/settings/export.ts'

/** In the form of files. The ids are few: declared and existing records often match. */

const IDS = ['a', 'b', 'c'] as const
const id = fc.constantFrom(...IDS)
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })

/** YAML, variables or terminals could misinterpret these. */
export const trickyText = fc.oneof(
  fc.constantFrom(
    '${HOME}',
    '$${',
    '$$${x}',
    'no',
    '~',
    '*a',
    '&b',
    '- c',
    '# d',
    '1e3',
    "it's",
    '"',
    'a: b',
    '***',
    '<<',
    '\u0000x',
  ),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 }),
)
const label = trickyText.filter((text) => text !== '__proto__').map((text) => text.slice(0, 64))
const name = trickyText.filter((text) => text.trim() !== '').map((text) => text.trim().slice(0, 200))

const source = fc.record({
  id,
  name,
  writeKey: fc.constant(''),
  enabled: fc.boolean(),
  rateLimit: optional(
    fc.record({ perSecond: fc.integer({ min: 1, max: 9 }), burst: fc.integer({ min: 1, max: 9 }) }),
  ),
  labels: optional(fc.dictionary(label, label, { maxKeys: 2, noNullPrototype: true })),
})

const header = fc.constantFrom('X-Team', 'x-team', 'Authorization', 'constructor')
const webhook = fc.record({
  url: fc.constantFrom('https://a.example/', 'https://b.example/$x', 'https://c.example/?q=1#f'),
  headers: fc
    .uniqueArray(header, { selector: (one) => one.toLowerCase(), maxLength: 2 })
    .map((names) => Object.fromEntries(names.map((one) => [one, `value of ${one}`]))),
})

const shapeName = fc.constantFrom('a', 'b', 'a/b', '0', '', '~1')
/** Valid rules with many similar names and values. */
const shape = fc
  .letrec<{ value: unknown; object: object }>((tie) => ({
    object: fc.dictionary(shapeName, tie('value'), { maxKeys: 2, noNullPrototype: true }),
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom(0, 'a', null, true),
      tie('object'),
      fc.array(tie('value'), { maxLength: 2 }),
    ),
  }))
  .object.filter((object) => Object.keys(object).length > 0)
const rules = fc.record({ shape })

const destination = fc.record({
  id,
  type: fc.constant('Webhooks'),
  name,
  enabled: fc.boolean(),
  sourceIds: fc.uniqueArray(id),
  eventTypes: optional(fc.constantFrom(['track'], ['identify', 'delete'])),
  webhooks: fc.array(webhook, { minLength: 1, maxLength: 3 }),
  sharedSecret: optional(fc.constantFrom('s3cret', '${SECRET', 'whsec_c2VjcmV0')),
  retryOn: optional(fc.constantFrom([408], [425, 429])),
  standardWebhooks: optional(fc.boolean()),
  rules: optional(rules),
})

// each id has its own write key
const computation = (kind: string) =>
  fc.record({ id, sourceId: id }).map((each) => ({ ...each, name: `${kind} ${each.id}` }))

const unique = <T extends { id: string }>(record: fc.Arbitrary<T>) =>
  fc.uniqueArray(record, { selector: (each) => each.id, maxLength: 3 })

const suppression = fc.record({ sourceId: fc.constantFrom(...IDS, '*'), userId: trickyText })

const defined = <T extends object>(record: T): T =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T

export const settings: fc.Arbitrary<Exported> = fc
  .record({
    sources: unique(source),
    destinations: unique(destination),
    audiences: unique(computation('audience')),
    traits: unique(computation('trait')),
    suppressions: fc.uniqueArray(suppression, { selector: (each) => JSON.stringify(each), maxLength: 3 }),
  })
  .map(({ sources, destinations, audiences, traits, suppressions }) => {
    const there = sources.map((each) => ({ ...defined(each), writeKey: `write-key-${each.id}` }))
    const ids = new Set(there.map((each) => each.id))
    const known = (sourceId: string) => ids.has(sourceId as (typeof IDS)[number])
    return {
      sources: there,
      destinations: destinations.map((each) => ({
        ...defined(each),
        sourceIds: each.sourceIds.filter(known),
      })),
      audiences: audiences.filter((each) => known(each.sourceId)),
      traits: traits.filter((each) => known(each.sourceId)),
      suppressions: suppressions.filter(({ sourceId }) => sourceId === '*' || known(sourceId)),
    }
  })
