import { expect, test } from 'vitest'
import { createHostShare, hostLimits } from '../../../deliverer/lane/host-share.ts'
import { createScheduler } from '../../../deliverer/lane/scheduler.ts'
import type { Job } from '../../../deliverer/lane/state.ts'
import { createWebhookQueue, onEnded } from '../../../deliverer/lane/webhook-queue.ts'
import { createWebhooks } from '../../../delivery/webhooks.ts'
import { targetOf } from './simulation.ts'

const job = {} as Job // what waits is not looked at
const all = () => true

function aQueue(origin: string) {
  const webhooks = createWebhooks()
  const queue = createWebhookQueue(
    webhooks.of(targetOf(origin), 0),
    createHostShare(hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), 0),
    0,
  )
  queue.jobs.push({ job, since: 0, isProbe: false, isUnproven: true })
  const hear = (ended: 'answered' | 'failed') => {
    onEnded(queue, { ended, begunAt: 0, most: 64 }, 1)
    webhooks.ended(queue.webhook, ended, { sent: true, now: 1 })
  }
  return { queue, hear }
}

test('each queue that may begin is chosen once', () => {
  const scheduler = createScheduler()
  const queues = ['http://a', 'http://b', 'http://c'].map((origin) => aQueue(origin).queue)
  for (const queue of [...queues, ...queues]) scheduler.add(queue, 1)
  expect([1, 2, 3, 4].map(() => scheduler.next(all, 1))).toEqual([...queues, undefined])
})

test('a queue listed as doubtful that has answered since is chosen, while doubtful ones are not', () => {
  const scheduler = createScheduler()
  const { queue, hear } = aQueue('http://a')
  hear('failed')
  scheduler.add(queue, 1)
  const trusted = (standing: string) => standing !== 'doubtful'
  expect(scheduler.next(trusted, 1)).toBeUndefined()
  hear('answered')
  scheduler.add(queue, 1)
  expect(scheduler.next(trusted, 1)).toBe(queue)
  expect(scheduler.next(all, 1)).toBeUndefined()
})

test('a queue that has failed since it was listed comes after the others', () => {
  const scheduler = createScheduler()
  const [first, second] = [aQueue('http://a'), aQueue('http://b')]
  scheduler.add(first.queue, 1)
  scheduler.add(second.queue, 1)
  first.hear('failed')
  expect([scheduler.next(all, 1), scheduler.next(all, 1)]).toEqual([second.queue, first.queue])
})
