import { expect, test } from 'vitest'
import { compileSample } from '../../rules/sample.ts'
import { anEvent } from '../helpers/events.ts'

const users = Array.from({ length: 10_000 }, (_, index) => `user-${index}`)
const inSample = (rate: number, userId: string, messageId = 'm1') =>
  compileSample({ rate, by: 'user' })(anEvent({ userId, messageId }))

test('a rate of 0.1 samples about a tenth of the users', () => {
  const share = users.filter((userId) => inSample(0.1, userId)).length / users.length
  expect(share).toBeGreaterThan(0.09)
  expect(share).toBeLessThan(0.11)
})

// never change these: users would move in or out, and replays would decide differently
test('the same users are in the sample, today and after every upgrade', () => {
  expect(users.slice(0, 30).filter((userId) => inSample(0.1, userId))).toEqual([
    'user-7',
    'user-9',
    'user-14',
    'user-15',
    'user-16',
    'user-21',
    'user-28',
  ])
})

test('all events of a user are in or none, and a user stays in when the rate rises', () => {
  for (const userId of users.slice(0, 200)) {
    expect(inSample(0.3, userId, 'm2')).toBe(inSample(0.3, userId, 'm1'))
    if (inSample(0.3, userId)) expect(inSample(0.6, userId)).toBe(true)
  }
})

test('without a user id, the anonymous id decides', () => {
  const sampled = compileSample({ rate: 0.5 })
  for (const id of users.slice(0, 50))
    expect(sampled(anEvent({ userId: null, anonymousId: id }))).toBe(
      sampled(anEvent({ userId: id, anonymousId: 'x' })),
    )
})

test('by event, some events of a user are in', () => {
  const sampled = compileSample({ rate: 0.5, by: 'event' })
  const decided = new Set(users.slice(0, 50).map((messageId) => sampled(anEvent({ messageId }))))
  expect(decided.size).toBe(2)
})

test('a rate of 1 sends everything, and 0 nothing', () => {
  expect(users.filter((userId) => inSample(0, userId))).toEqual([])
  expect(users.every((userId) => inSample(1, userId))).toBe(true)
})
