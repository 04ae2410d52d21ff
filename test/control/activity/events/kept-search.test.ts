import { expect, test } from 'vitest'
import { createKeptSearch } from '../../../../control/activity/events/kept-search.ts'
import type { Destination } from '../../../../settings/settings.ts'
import { aDestination, anEvent } from '../../../helpers/events.ts'

const events = Array.from({ length: 100 }, (_, nth) => anEvent({ messageId: `m${nth}`, sourceId: 'shop' }))

/** Rules take 100 ms for an event. Turns of the event loop wait for `turn`. */
function world() {
  let now = 0
  let runs = 0
  const begun: (() => void)[] = []
  const costly: Destination = aDestination({ id: 'crm', sourceIds: ['shop'] })
  const destinations = {
    get: () => {
      runs += 1
      now += 100
      return costly
    },
  }
  const slices = {
    isSpent: () => true,
    next: () => new Promise<void>((resolve) => void begun.push(resolve)),
  }
  const search = createKeptSearch(() => now, slices)
  return {
    runs: () => runs,
    ask: (count = events.length) => search(events.slice(0, count), destinations, () => ['crm']),
    async turn() {
      begun.shift()?.()
      await new Promise(setImmediate)
    },
  }
}

test('a search stops after 7 s of rules, because nobody waits for it any longer', async () => {
  const { ask, turn, runs } = world()
  const asked = ask()
  for (let count = 0; count < 90; count++) await turn()
  expect([await asked, runs()]).toEqual(['too_long', 71])
})

test('at most ten run at once, and all of them share the slices', async () => {
  const { ask, turn, runs } = world()
  const asked = Array.from({ length: 10 }, () => ask(1))
  expect(await ask(1)).toBe('too_many')
  await turn()
  expect(runs()).toBe(1)
  for (let count = 0; count < 10; count++) await turn()
  const found = await Promise.all(asked)
  expect(found.map((each) => typeof each)).toEqual(Array(10).fill('object'))
  const next = ask(1)
  await turn()
  expect(await next).toBeInstanceOf(Map)
})
