import { describe, expect, test } from 'vitest'
import { isQueueFull } from '../../../deliverer/lane/backpressure.ts'

describe('a webhook may have waiting', () => {
  const room = { posts: 4_096, bytes: 2 ** 25 }
  const fullFor = (posts: number, facts: { waiting: number; perSecond?: number; inTrouble?: boolean }) => {
    const { waiting, perSecond = 0, inTrouble = false } = facts
    return isQueueFull({
      queued: { posts, bytes: 1 },
      waiting: { posts: waiting, bytes: 1 },
      room,
      perSecond,
      inTrouble,
    })
  }

  test.each<[string, number, Parameters<typeof fullFor>[1]]>([
    ['as many POSTs as the lane has room for', 1_000, { waiting: 3_096 }],
    ['sixteen POSTs in any case', 16, { waiting: 8_000 }],
    ['what it answers in a quarter of a second', 100, { waiting: 8_000, perSecond: 400 }],
    ['one POST when it is in trouble', 1, { waiting: 4_095, inTrouble: true }],
  ])('%s', (_, most, facts) => {
    expect([fullFor(most - 1, facts), fullFor(most, facts)]).toEqual([false, true])
  })

  test('nothing when it is in trouble and the lane has no room', () => {
    expect(fullFor(0, { waiting: 4_096, inTrouble: true })).toBe(true)
  })

  test('as many bytes as the lane has room for, and a single POST of any size', () => {
    const full = (queued: number, waiting: number) =>
      isQueueFull({
        queued: { posts: 1, bytes: queued },
        waiting: { posts: 1, bytes: waiting },
        room,
        perSecond: 0,
        inTrouble: false,
      })
    const half = room.bytes / 2
    expect([full(half - 1, half), full(half, half), full(0, room.bytes)]).toEqual([false, true, false])
  })
})
