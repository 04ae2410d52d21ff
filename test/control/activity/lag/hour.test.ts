import { expect, test } from 'vitest'
import { createHour } from '../../../../control/activity/lag/history.ts'
import { api, VIEW } from '../../api.ts'
import { aLagItem, lagHeld } from '../../lag-in-memory.ts'

const begun = Date.parse('2026-01-02T03:00:00.000Z')

test('one look in ten seconds is kept, for an hour, with sums of each group', async () => {
  const hour = createHour()
  for (let second = 0; second <= 4_000; second += 2)
    hour.add({
      at: begun + second * 1_000,
      items: [
        aLagItem({ lag: second, lagSeconds: null }),
        aLagItem({ partition: 1, lag: 1, lagSeconds: 2 }),
        aLagItem({ group: 'deliverer', lagSeconds: null }),
      ],
    })
  expect(hour.all()).toHaveLength(360)
  const { ask } = api({}, lagHeld([], { hour: hour.all }))
  const { json } = await ask({ url: '/api/lag/hour', token: VIEW })
  expect(json.items.at(-1)).toEqual({
    at: '2026-01-02T04:06:40.000Z',
    groups: [
      { group: 'router', lag: 4_001, lagSeconds: 2 },
      { group: 'deliverer', lag: 10, lagSeconds: null },
    ],
  })
})

test('a clock that was set back begins anew from there', () => {
  const hour = createHour()
  for (const at of [10, 30, 20]) hour.add({ at: at * 1_000, items: [] })
  expect(hour.all().map(({ at }) => at)).toEqual([10_000, 20_000])
})
