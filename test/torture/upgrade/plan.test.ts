import { expect, test } from 'vitest'
import { ROLES } from '../../../settings/config-key.ts'
import { BACK, calmSpans, mixedDeliverers, UPGRADE } from '../../../torture/upgrade/plan.ts'

test('an upgrade begins with one control and ends with the other', () => {
  const all = [...UPGRADE.first, ...UPGRADE.second]
  expect([all.at(0)?.role, all.at(-1)?.role]).toEqual(['control', 'control'])
  for (const roll of [UPGRADE, BACK])
    for (const half of [roll.first, roll.second])
      expect(half.map(({ role }) => role).toSorted()).toEqual(ROLES.toSorted())
})

test('the way back is the upgrade in reverse', () => {
  const up = [...UPGRADE.first, ...UPGRADE.second]
  expect([...BACK.first, ...BACK.second]).toEqual(up.toReversed())
  expect(new Set(up.map(({ role, copy }) => `${role} ${copy}`)).size).toBe(2 * ROLES.length)
})

test('deliverers are mixed from the stop of the first until the second is ready', () => {
  const replaced = [
    { role: 'router', copy: 0, from: 0, to: 10 },
    { role: 'deliverer', copy: 0, from: 10, to: 20 },
    { role: 'deliverer', copy: 1, from: 30, to: 40 },
    { role: 'control', copy: 1, from: 40, to: 50 },
  ] as const
  expect(mixedDeliverers(replaced)).toEqual({ from: 10, to: 40 })
})

test('a calm time begins ten seconds after a replacement', () => {
  const replaced = [
    { from: 50_000, to: 53_000 },
    { from: 20_000, to: 25_000 },
    { from: 54_000, to: 56_000 },
  ]
  expect(calmSpans(replaced, 100_000)).toEqual([
    { from: 0, to: 20_000 },
    { from: 35_000, to: 50_000 },
    { from: 66_000, to: 100_000 },
  ])
  expect(calmSpans([], 5)).toEqual([{ from: 0, to: 5 }])
})
