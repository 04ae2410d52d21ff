import { expect, test } from 'vitest'
import { historyOf } from '../../../../control/activity/events/history.ts'
import { attemptsHeld } from '../../attempts-in-memory.ts'
import { aDeadOne, deadHeld } from '../../dead-in-memory.ts'

test('many users may share a delivery id: each dead letter is looked at once, not for each delivery', () => {
  const users = Array.from({ length: 500 }, (_, index) => `u${index}`.padEnd(300, 'x'))
  const { dead } = deadHeld(
    users.map((_, index) => aDeadOne({ deliveryId: 'shared', deadAt: index })),
    { users },
  )
  let reads = 0
  for (const letter of dead.recent.all()) {
    const { user } = letter
    Object.defineProperty(letter, 'user', {
      get() {
        reads += 1
        return user
      },
    })
  }
  const { of } = historyOf([{ messageId: 'm1' }], { ...attemptsHeld(), dead, now: 0 })
  for (const [offset, user] of users.entries()) expect(of('shared', user).dead).toMatchObject({ offset })
  expect(of('shared').dead).toMatchObject({ offset: 499 })
  expect(of('shared', null).dead).toBeUndefined()
  expect(reads).toBeLessThanOrEqual(2 * users.length)
})
