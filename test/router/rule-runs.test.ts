import { expect, test } from 'vitest'
import type { RulesRun } from '../../delivery/routing/apply-rules.ts'
import { createRuleRuns, MANY } from '../../router/rule-runs.ts'
import { MAX_WORK } from '../../rules/call.ts'
import { compilePattern } from '../../rules/pattern.ts'
import type { Rules } from '../../rules/rules.ts'
import { aDestination, anEvent } from '../helpers/events.ts'

const TEXT_LENGTH = 10_000
const event = anEvent({ properties: JSON.stringify({ text: 'a'.repeat(TEXT_LENGTH) }) })

const withRules = (id: string, rules: Rules) =>
  aDestination({ id, rules, hashKey: 'a-hash-key-of-this-test' })
/** Each condition reads the whole text. */
const reading = (id: string, times: number) =>
  withRules(id, {
    filter: {
      all: Array.from({ length: times }, () => ({ not: { path: 'properties.text', contains: 'b' } })),
    },
  })
const cheap = (id: string) => withRules(id, { filter: { path: 'userId', eq: 'u1' } })
const list = <T>(count: number, make: (id: string) => T, name: string) =>
  Array.from({ length: count }, (_, nth) => make(`${name}${nth}`))

function outcomes(ruled: Parameters<typeof createRuleRuns>[1]) {
  const runs = createRuleRuns(event, ruled)
  const found = new Map<string, RulesRun>()
  while (!runs.isDone()) {
    const ran = runs.next()
    if (!ran) continue
    expect(found.has(ran.destination.id)).toBe(false)
    found.set(ran.destination.id, ran.result)
  }
  expect(found.size).toBe(ruled.length)
  return found
}

const ended = (found: Map<string, RulesRun>, name: string) => {
  const ends = [...found]
    .filter(([id]) => id.startsWith(name))
    .map(([, run]) => ('code' in run ? run.code : run.outcome))
  return Object.fromEntries(
    [...new Set(ends)].map((end) => [end, ends.filter((each) => each === end).length]),
  )
}

const TIMES = Math.floor(MAX_WORK / TEXT_LENGTH) - 1

test('up to ten destinations each have the whole budget', () => {
  const found = outcomes(list(MANY, (id) => reading(id, TIMES), 'costly'))
  expect(ended(found, 'costly')).toEqual({ sent: MANY })
})

test('of a thousand costly destinations, those fail for which no common budget is left', () => {
  const found = outcomes(list(1_000, (id) => reading(id, TIMES), 'costly'))
  const { sent = 0, too_costly_together: failed = 0 } = ended(found, 'costly')
  expect([sent + failed, sent > 0, sent <= MANY]).toEqual([1_000, true, true])
  const last = found.get('costly999')
  expect(last).toMatchObject({ outcome: 'failed', message: expect.stringContaining('together') })
})

test('costly destinations harm no cheap one, whatever their order', () => {
  const costly = list(30, (id) => reading(id, TIMES), 'costly')
  const medium = list(20, (id) => reading(id, 20), 'medium')
  const low = list(500, cheap, 'cheap')
  for (const ruled of [
    [...costly, ...medium, ...low],
    [...low, ...medium, ...costly],
  ]) {
    const found = outcomes(ruled)
    expect(ended(found, 'cheap')).toEqual({ sent: 500 })
    expect(ended(found, 'medium')).toEqual({ sent: 20 })
    expect(ended(found, 'costly').too_costly_together).toBeGreaterThan(20)
  }
})

test('rules that exceed the budget of one destination fail as they do alone', () => {
  const ruled = [reading('excessive', 2 * TIMES), ...list(20, cheap, 'cheap')]
  expect(ended(outcomes(ruled), 'excessive')).toEqual({ too_costly: 1 })
})

test('rules that would read too much at once do not use up the common budget', () => {
  const huge = (id: string) =>
    withRules(id, { filter: { path: 'properties.text', matches: '(abcdefgh){60}' } })
  const found = outcomes([...list(100, huge, 'huge'), ...list(5, (id) => reading(id, TIMES), 'costly')])
  expect(ended(found, 'huge')).toEqual({ too_costly: 100 })
  expect(ended(found, 'costly')).toEqual({ sent: 5 })
})

test('a dead letter for lack of a common budget contains nothing that the rules redact', () => {
  const secret = anEvent({ properties: JSON.stringify({ text: 'a'.repeat(TEXT_LENGTH), card: '4111' }) })
  const ruled = list(
    30,
    (id) => ({
      ...reading(id, TIMES),
      rules: { ...reading(id, TIMES).rules, redact: [{ path: 'properties.card', as: 'drop' as const }] },
    }),
    'costly',
  )
  const runs = createRuleRuns(secret, ruled)
  const failed: RulesRun[] = []
  while (!runs.isDone()) {
    const { result } = runs.next() ?? {}
    if (result?.outcome === 'failed') failed.push(result)
  }
  expect(failed.length).toBeGreaterThan(10)
  expect(JSON.stringify(failed)).not.toContain('4111')
})

test('compiling a dropped pattern again counts as work, so the slice ends', () => {
  const destination = withRules('dropped', {
    filter: { path: 'userId', matches: `^${'(a|b)'.repeat(190)}$` },
  })
  const work = () => {
    const runs = createRuleRuns(event, [destination])
    runs.next()
    return runs.work()
  }
  const compiling = work()
  expect(work()).toBeLessThan(compiling)
  for (let nth = 0; nth < 1_500; nth++) compilePattern(`${'(a|b)'.repeat(190)}${nth}$`)
  expect(work()).toBe(compiling)
})
