import { expect, test } from 'vitest'
import { withLoss } from '../../../../control/activity/lag/log-faults.ts'
import type { Loss } from '../../../../kafka/admin/lost-records.ts'

const loss = (fields: Partial<Loss> = {}): Loss => ({
  ...{ at: 1_000_000, topic: 'events', partition: 0, cause: 'truncated', seenBy: 'router' },
  ...{ offset: 500, to: 300, lost: 200, unread: 0 },
  ...fields,
})
const all = (...losses: Loss[]) => losses.reduce<ReturnType<typeof withLoss>>(withLoss, [])

test('reports of several readers merge into one fault with the largest figures', () => {
  const faults = all(
    loss(),
    loss({ seenBy: 'producer', offset: 450, lost: 150, readTo: 900_000 }),
    loss({ seenBy: 'tail', lost: 220, unread: 20, at: 1_000_500 }),
  )
  const merged = { lost: 220, unread: 20, readTo: 900_000, seenByAll: ['router', 'producer', 'tail'] }
  expect(faults).toMatchObject([{ at: 1_000_000, offset: 500, ...merged }])
})

test.each([
  ['of another partition', { partition: 1 }],
  ['of another topic', { topic: 'deliveries' }],
  ['with another cause', { cause: 'removed' }],
  ['at another place', { to: 200 }],
  ['an hour later', { at: 1_000_000 + 3_600_000 }],
] as const)('one %s is another fault', (_, fields) => {
  expect(all(loss(), loss(fields))).toHaveLength(2)
})

test('records that were removed before several groups had read them count once, wherever each group was', () => {
  const removed = (seenBy: string, offset: number, to: number) =>
    loss({ cause: 'removed', seenBy, offset, to, lost: to - offset, unread: to - offset })
  const faults = all(
    removed('router', 100, 120),
    removed('replay.a', 50, 120),
    removed('replay.b', 110, 125),
    removed('router', 125, 140),
    removed('replay.d', 40, 50),
  )
  expect(faults.toSorted((a, b) => a.offset - b.offset)).toMatchObject([
    { offset: 40, lost: 10, unread: 10, seenByAll: ['replay.d'] },
    { offset: 50, lost: 75, unread: 75, seenByAll: ['router', 'replay.a', 'replay.b'] },
    { offset: 125, lost: 15, unread: 15, seenByAll: ['router'] },
  ])
  expect(withLoss(faults, removed('replay.c', 45, 135))).toMatchObject([
    { offset: 40, lost: 100, unread: 100 },
  ])
})

test('the newest comes first, and their number is limited', () => {
  const faults = all(
    ...Array.from({ length: 150 }, (_, index) => loss({ partition: index, at: 1_000_000 + index })),
  )
  expect(faults).toHaveLength(100)
  expect(faults[0]?.partition).toBe(149)
})
