import { expect, test } from 'vitest'
import { createHostRoom, hostLimits } from '../../../deliverer/lane/host-room.ts'
import { createLine, heard } from '../../../deliverer/lane/line.ts'
import type { Job } from '../../../deliverer/lane/state.ts'
import { createTurns } from '../../../deliverer/lane/turns.ts'
import { createWebhooks } from '../../../delivery/webhooks.ts'
import { targetOf } from './simulation.ts'

const job = {} as Job // what waits is not looked at
const all = () => true

function aLine(origin: string) {
  const webhooks = createWebhooks()
  const line = createLine(
    webhooks.of(targetOf(origin), 0),
    createHostRoom(hostLimits(512, { posts: 4_096, bytes: 2 ** 25 }), 0),
    0,
  )
  line.queue.push({ job, since: 0, isProbe: false, isUnproven: true })
  const hear = (ended: 'answered' | 'failed') => {
    heard(line, { ended, begunAt: 0, most: 64 }, 1)
    webhooks.heard(line.webhook, ended, { sent: true, now: 1 })
  }
  return { line, hear }
}

test('each line that may begin has one turn', () => {
  const turns = createTurns()
  const lines = ['http://a', 'http://b', 'http://c'].map((origin) => aLine(origin).line)
  for (const line of [...lines, ...lines]) turns.add(line, 1)
  expect([1, 2, 3, 4].map(() => turns.next(all, 1))).toEqual([...lines, undefined])
})

test('a line that has answered has its turn though those in doubt, among which it stood, have none', () => {
  const turns = createTurns()
  const { line, hear } = aLine('http://a')
  hear('failed')
  turns.add(line, 1)
  const trusted = (standing: string) => standing !== 'doubtful'
  expect(turns.next(trusted, 1)).toBeUndefined()
  hear('answered')
  turns.add(line, 1)
  expect(turns.next(trusted, 1)).toBe(line)
  expect(turns.next(all, 1)).toBeUndefined()
})

test('a line that has failed since it was listed comes after the others', () => {
  const turns = createTurns()
  const [first, second] = [aLine('http://a'), aLine('http://b')]
  turns.add(first.line, 1)
  turns.add(second.line, 1)
  first.hear('failed')
  expect([turns.next(all, 1), turns.next(all, 1)]).toEqual([second.line, first.line])
})
