import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createHostShare,
  type EnteredAs,
  endInShare,
  enterShare,
  hostLimits,
  isBlockedByHost,
  leaveShare,
} from '../../../deliverer/lane/host-share.ts'
import type { Job } from '../../../deliverer/lane/state.ts'
import {
  createWebhookQueue,
  isSilent,
  MIN_CAP,
  mayBegin,
  onBegun,
  onEnded,
  onQueued,
  rollWindow,
  standing,
  waitsFor,
} from '../../../deliverer/lane/webhook-queue.ts'
import { createWebhooks } from '../../../delivery/webhooks.ts'
import { targetOf } from './simulation.ts'

const job = {} as Job // what waits is not looked at
const aQueue = () =>
  createWebhookQueue(
    createWebhooks().of(targetOf('http://a'), 0),
    createHostShare(hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), 0),
    0,
  )

test('never has more POSTs in flight than its cap when it begins one', () => {
  const ended = fc.constantFrom('answered', 'failed', 'timed_out')
  const step = fc.oneof(
    fc.constant('begin' as const),
    fc.record({ ended, tookMs: fc.nat(6_000) }),
    fc.record({ laterMs: fc.nat(3_000) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const queue = aQueue()
      let now = 0
      for (const each of steps) {
        if (each === 'begin') {
          queue.jobs.push({ job, since: now, isProbe: false, isUnproven: true })
          onQueued(queue, 64, now)
          if (!mayBegin(queue, now)) continue
          queue.jobs.take()
          onBegun(queue, now)
          expect(queue.inFlight).toBeLessThanOrEqual(Math.floor(queue.cap))
        } else if ('laterMs' in each) {
          now += each.laterMs
          rollWindow(queue, now)
        } else if (queue.inFlight > 0) {
          onEnded(queue, { ended: each.ended, begunAt: now - each.tookMs, most: 64 }, now)
          queue.inFlight -= 1
        }
      }
    }),
  )
})

describe('the cap of a webhook', () => {
  const used = () => {
    const queue = aQueue()
    for (let each = 0; each < MIN_CAP; each++) onBegun(queue, 0)
    return queue
  }

  test('grows with its answers', () => {
    const queue = used()
    onQueued(queue, 64, 10)
    expect(queue.cap).toBe(MIN_CAP)
    onEnded(queue, { ended: 'answered', begunAt: 0, most: 64 }, 10)
    expect(queue.cap).toBe(MIN_CAP + 1)
  })

  test('grows with the queued POSTs while the webhook is slow but answers', () => {
    const queue = used()
    for (let each = 0; each < 3; each++) onEnded(queue, { ended: 'answered', begunAt: 0, most: 64 }, 2_000)
    const { cap, webhook } = queue
    for (let more = queue.inFlight; more < cap; more++) onBegun(queue, 2_000)
    onEnded(queue, { ended: 'answered', begunAt: 0, most: 64 }, 2_000)
    expect(queue.cap).toBe(cap)
    onQueued(queue, 64, 2_001)
    expect(queue.cap).toBe(cap + 1)
    onBegun(queue, 2_001)
    onQueued(queue, 64, 3_001 + Math.ceil(webhook.answerMs))
    expect([queue.cap, webhook.answerMs > 500]).toEqual([cap + 1, true])
  })
})

describe('the standing of a webhook', () => {
  test('is doubtful from a failure to the next answer', () => {
    const webhooks = createWebhooks()
    const queue = createWebhookQueue(
      webhooks.of(targetOf('http://a'), 0),
      createHostShare(hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), 0),
      0,
    )
    const end = (ended: 'answered' | 'failed') => webhooks.ended(queue.webhook, ended, { sent: true, now: 1 })
    end('failed')
    expect(standing(queue)).toBe('doubtful')
    end('answered')
    expect(standing(queue)).toBe('prompt')
  })

  test('is slow while its answers take long, and prompt otherwise', () => {
    const queue = aQueue()
    const answer = (times: number, ms: number) => {
      for (let each = 0; each < times; each++) onEnded(queue, { ended: 'answered', begunAt: 0, most: 64 }, ms)
    }
    answer(3, 2_000)
    expect(standing(queue)).toBe('slow')
    answer(20, 10)
    expect(standing(queue)).toBe('prompt')
  })

  test('is silent when nothing was heard from POSTs in flight for over a second', () => {
    const queue = aQueue()
    expect(isSilent(queue, 5_000)).toBe(false)
    onBegun(queue, 5_000)
    expect([isSilent(queue, 6_000), isSilent(queue, 6_001)]).toEqual([false, true])
    onEnded(queue, { ended: 'failed', begunAt: 5_000, most: 64 }, 6_500)
    expect(isSilent(queue, 6_501)).toBe(false)
  })
})

describe('a queued POST waits', () => {
  test('for a slot, when more may be in flight', () => {
    expect(waitsFor(aQueue(), 0)).toBe('slot')
  })

  test('for a POST in flight to end, when the cap is used up', () => {
    const queue = aQueue()
    for (let under = 0; under < MIN_CAP; under++) onBegun(queue, 0)
    expect(waitsFor(queue, 500)).toBe('cap')
  })

  test('for an answer, when nothing was heard for a second', () => {
    const queue = aQueue()
    onBegun(queue, 0)
    expect(waitsFor(queue, 1_001)).toBe('answer')
  })
})

describe('a webhook that has never answered', () => {
  /** What happens to one of four webhooks. `release`: the connection of an ended POST is free. */
  const step = fc.record({
    of: fc.nat(3),
    does: fc.constantFrom('begin', 'begin', 'answered', 'answered', 'failed', 'timed_out', 'release'),
    isProbe: fc.nat(4).map((n) => n === 0),
    laterMs: fc.nat(700),
  })

  test('waits for its host exactly while one that awaits an answer has been silent for over a second', () => {
    // any webhook that awaits an answer fills the host's share
    const limits = { ...hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), least: 1, most: 1, trusted: 0 }
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 100 }), (steps) => {
        const share = createHostShare(limits, 0)
        const webhooks = createWebhooks()
        const queueOf = (path: number) =>
          createWebhookQueue(webhooks.of(targetOf(`http://a/${path}`), 0), share, 0)
        const fresh = queueOf(9)
        const posts = [0, 1, 2, 3].map((path) => ({
          queue: queueOf(path),
          open: [] as EnteredAs[],
          ended: [] as EnteredAs[],
        }))
        let now = 0
        for (const { of, does, isProbe, laterMs } of steps) {
          now += laterMs
          const { queue, open, ended } = posts[of] ?? expect.fail('there are four')
          const as = (does === 'release' ? ended : open)[0]
          if (does === 'begin') {
            open.push(enterShare(queue, isProbe, now))
            onBegun(queue, now)
          } else if (as && does === 'release') {
            ended.shift()
            queue.inFlight -= 1
            leaveShare(queue, { as, isIdle: queue.inFlight === 0 })
          } else if (as && does !== 'release') {
            ended.push(...open.splice(0, 1))
            onEnded(queue, { ended: does, begunAt: now, most: 64 }, now)
            endInShare(queue, { ended: does, hasOthers: queue.inFlight > 1 })
            webhooks.ended(queue.webhook, does, { sent: true, now })
          }
          const silent = [...share.awaiting].some(({ heardAt }) => now - heardAt > 1_000)
          const isFull = share.awaiting.size - share.trusted.size >= Math.floor(share.cap)
          expect(isBlockedByHost(fresh, now)).toBe(isFull && silent)
        }
      }),
    )
  })
})
