import { describe, expect, test } from 'vitest'
import { applyRules } from '../../delivery/routing/apply-rules.ts'
import { candidates, groupOf } from '../../delivery/routing/compiled-rules.ts'
import { deliveryId, deliveryOf, matching } from '../../delivery/routing/routing.ts'
import type { Event } from '../../schemas/event.ts'
import type { Outline } from '../../settings/lookup.ts'
import type { Destination } from '../../settings/settings.ts'
import { aDestination, anEvent } from '../helpers/events.ts'

type Rules = NonNullable<Destination['rules']>

const HASH_KEY = 'a-hash-key-of-this-test'
const withRules = (rules: Rules, more: Partial<Destination> = {}) =>
  aDestination({ rules, hashKey: HASH_KEY, ...more })
const idsOf = (destinations: readonly Outline[]) => destinations.map(({ id }) => id)

describe('an event for a destination with rules', () => {
  const event = anEvent({ event: 'Paid', properties: '{"card":"4111"}' })

  test('has the same delivery as without rules if they change nothing', () => {
    const ruled = applyRules(event, withRules({ filter: { path: 'event', eq: 'Paid' } }), 5)
    expect(ruled).toEqual({ outcome: 'sent', delivery: deliveryOf(event, 'crm', 5), key: 'crm/u1' })
  })

  test('has no delivery if they do not let it pass', () => {
    const filtered = applyRules(event, withRules({ filter: { path: 'event', eq: 'Left' } }), 5)
    expect(filtered).toEqual({ outcome: 'filtered', condition: '/filter' })
    expect(applyRules(event, withRules({ sample: { rate: 0 } }), 5)).toEqual({ outcome: 'sampled_out' })
  })

  test.each(['hash', 'mask', 'drop', 'truncate'] as const)(
    'is written under a hash of a user that is redacted (%s), and so in order',
    (as) => {
      const destination = withRules({ redact: [{ path: 'userId', as }] })
      const keyOf = (of: Event) => {
        const ruled = applyRules(of, destination, 5)
        return 'key' in ruled ? ruled.key : undefined
      }
      const key = keyOf(event)
      expect(key).toMatch(/^crm\/[0-9a-f]{32}$/)
      expect(keyOf({ ...event, messageId: 'm2' })).toBe(key)
      expect(keyOf({ ...event, userId: 'u2' })).not.toBe(key)
    },
  )

  test('is written under the same hash of the user as in the body', () => {
    const ruled = applyRules(event, withRules({ redact: [{ path: 'userId', as: 'hash' }] }), 5)
    if (ruled.outcome !== 'sent') return expect.fail('it was to be sent')
    expect(ruled.key).toBe(`crm/${JSON.parse(ruled.delivery.body).userId}`)
  })

  test('becomes a dead letter with a redacted body if its rules fail', () => {
    const shape = Array.from({ length: 20 }, () => '{{properties.text}}')
    const destination = withRules({ redact: [{ path: 'properties.card', as: 'drop' }], shape })
    const large = anEvent({ properties: JSON.stringify({ card: '4111', text: 'x'.repeat(20_000) }) })
    const ruled = applyRules(large, destination, 5)
    expect(ruled).toMatchObject({
      outcome: 'failed',
      code: 'too_large',
      delivery: { deliveryId: deliveryId('crm', large), deadReason: 'rules_failed', deadAt: 5, attempt: 0 },
    })
    expect(JSON.stringify(ruled)).not.toContain('4111')
  })

  test('becomes a dead letter without its content if the rules cannot be read', () => {
    const unread: Outline = { ...withRules({ filter: { path: 'type', eq: 'track' } }), hasUnreadRules: true }
    const ruled = applyRules(event, unread, 5)
    expect(ruled).toMatchObject({
      outcome: 'failed',
      code: 'unread_rules',
      key: 'crm/',
      delivery: { body: '{"type":"track"}', deadReason: 'rules_failed' },
    })
  })
})

describe('destinations that get only events with certain names', () => {
  const named = (id: string, ...names: string[]) =>
    withRules({ filter: { path: 'event', in: names } }, { id })
  const plain = aDestination({ id: 'plain' })
  const all = [
    plain,
    named('paid', 'Paid'),
    named('both', 'Paid', 'Left'),
    named('off', 'Paid'),
    withRules({ filter: { path: 'type', eq: 'track' } }, { id: 'any' }),
  ].map((each) => (each.id === 'off' ? { ...each, enabled: false } : each))
  const found = (event: Event) => idsOf(candidates(event, groupOf(all)))

  test('are found by name; the others are always found', () => {
    expect(found(anEvent({ event: 'Paid' }))).toEqual(['any', 'paid', 'both'])
    expect(found(anEvent({ event: 'Left' }))).toEqual(['any', 'both'])
    expect(found(anEvent({ event: 'Other' }))).toEqual(['any'])
    expect(found(anEvent({ type: 'page', event: null }))).toEqual(['any'])
  })

  test('get calls of other types that have an event name, as their filter decides', () => {
    const page = anEvent({ type: 'page', event: 'Left' })
    expect(found(page)).toEqual(['any', 'both'])
    expect(applyRules(page, named('both', 'Paid', 'Left'), 5)).toHaveProperty('outcome', 'sent')
  })

  test('get every deletion', () => {
    expect(found(anEvent({ type: 'delete' }))).toEqual(['paid', 'both', 'any'])
  })

  test('are separate from those without rules, which are routed as before', () => {
    const { plain: others, ruled } = matching(anEvent({ event: 'Left' }), all)
    expect([idsOf(others), idsOf(ruled)]).toEqual([['plain'], ['any', 'both']])
  })

  test('are always candidates while their rules cannot be read', () => {
    const unread: Outline[] = [{ ...named('paid', 'Paid'), hasUnreadRules: true }]
    expect(idsOf(candidates(anEvent({ event: 'Other' }), groupOf(unread)))).toEqual(['paid'])
  })
})
