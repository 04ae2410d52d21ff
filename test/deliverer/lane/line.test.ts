import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createHostRoom, hostLimits } from '../../../deliverer/lane/host-room.ts'
import {
  begun,
  came,
  createLine,
  heard,
  isSilent,
  LEAST_CAP,
  mayBegin,
  standing,
  turn,
  waitsFor,
} from '../../../deliverer/lane/line.ts'
import type { Job } from '../../../deliverer/lane/state.ts'
import { createWebhooks } from '../../../delivery/webhooks.ts'
import { targetOf } from './simulation.ts'

const job = {} as Job // what waits is not looked at
const aLine = () =>
  createLine(
    createWebhooks().of(targetOf('http://a'), 0),
    createHostRoom(hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), 0),
    0,
  )

test('never has more under way than its cap when it begins one', () => {
  const ended = fc.constantFrom('answered', 'failed', 'timed_out')
  const step = fc.oneof(
    fc.constant('begin' as const),
    fc.record({ ended, tookMs: fc.nat(6_000) }),
    fc.record({ laterMs: fc.nat(3_000) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const line = aLine()
      let now = 0
      for (const each of steps) {
        if (each === 'begin') {
          line.queue.push({ job, since: now, isProbe: false, isUnproven: true })
          came(line, 64, now)
          if (!mayBegin(line, now)) continue
          line.queue.take()
          begun(line, now)
          expect(line.inFlight).toBeLessThanOrEqual(Math.floor(line.cap))
        } else if ('laterMs' in each) {
          now += each.laterMs
          turn(line, now)
        } else if (line.inFlight > 0) {
          heard(line, { ended: each.ended, begunAt: now - each.tookMs, most: 64 }, now)
          line.inFlight -= 1
        }
      }
    }),
  )
})

describe('the cap of an endpoint', () => {
  const used = () => {
    const line = aLine()
    for (let each = 0; each < LEAST_CAP; each++) begun(line, 0)
    return line
  }

  test('grows with its answers', () => {
    const line = used()
    came(line, 64, 10)
    expect(line.cap).toBe(LEAST_CAP)
    heard(line, { ended: 'answered', begunAt: 0, most: 64 }, 10)
    expect(line.cap).toBe(LEAST_CAP + 1)
  })

  test('grows with what comes for it when it is slow, for as long as it is heard of', () => {
    const line = used()
    for (let each = 0; each < 3; each++) heard(line, { ended: 'answered', begunAt: 0, most: 64 }, 2_000)
    const { cap, webhook } = line
    for (let more = line.inFlight; more < cap; more++) begun(line, 2_000)
    heard(line, { ended: 'answered', begunAt: 0, most: 64 }, 2_000)
    expect(line.cap).toBe(cap)
    came(line, 64, 2_001)
    expect(line.cap).toBe(cap + 1)
    begun(line, 2_001)
    came(line, 64, 3_001 + Math.ceil(webhook.answerMs))
    expect([line.cap, webhook.answerMs > 500]).toEqual([cap + 1, true])
  })
})

describe('the standing of an endpoint', () => {
  test('is doubtful from a failure to the next answer', () => {
    const webhooks = createWebhooks()
    const line = createLine(
      webhooks.of(targetOf('http://a'), 0),
      createHostRoom(hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), 0),
      0,
    )
    const end = (ended: 'answered' | 'failed') => webhooks.heard(line.webhook, ended, { sent: true, now: 1 })
    end('failed')
    expect(standing(line)).toBe('doubtful')
    end('answered')
    expect(standing(line)).toBe('prompt')
  })

  test('is slow when its answers take long, and prompt again when they do not', () => {
    const line = aLine()
    const answer = (times: number, ms: number) => {
      for (let each = 0; each < times; each++) heard(line, { ended: 'answered', begunAt: 0, most: 64 }, ms)
    }
    answer(3, 2_000)
    expect(standing(line)).toBe('slow')
    answer(20, 10)
    expect(standing(line)).toBe('prompt')
  })

  test('is silent when nothing is heard of what is under way for more than a second', () => {
    const line = aLine()
    expect(isSilent(line, 5_000)).toBe(false)
    begun(line, 5_000)
    expect([isSilent(line, 6_000), isSilent(line, 6_001)]).toEqual([false, true])
    heard(line, { ended: 'failed', begunAt: 5_000, most: 64 }, 6_500)
    expect(isSilent(line, 6_501)).toBe(false)
  })
})

describe('what waits for a line waits', () => {
  test('for a slot, when the line may have more under way', () => {
    expect(waitsFor(aLine(), 0)).toBe('slot')
  })

  test('for one of those under way to end, when its cap is used up', () => {
    const line = aLine()
    for (let under = 0; under < LEAST_CAP; under++) begun(line, 0)
    expect(waitsFor(line, 500)).toBe('cap')
  })

  test('to hear of them, when nothing was heard for a second', () => {
    const line = aLine()
    begun(line, 0)
    expect(waitsFor(line, 1_001)).toBe('answer')
  })
})
