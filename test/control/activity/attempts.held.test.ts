import { expect, test } from 'vitest'
import { createRecentAttempts } from '../../../control/activity/attempts.ts'
import { afterwards } from '../../../control/activity/dead/routes.ts'
import { anAttempt } from '../attempts-in-memory.ts'

function held(maxCount: number, count: number) {
  const { recent, ofMessage } = createRecentAttempts({ maxCount, maxBytes: Number.POSITIVE_INFINITY })
  for (let index = 0; index < count; index++) {
    const attempt = anAttempt({ messageId: `m${index % 10}`, startedAt: index, attempt: index })
    recent.add({ time: index, partition: 0, offset: index, attempt, bytes: 0 })
  }
  return { all: () => recent.all().map(({ attempt }) => attempt), ofMessage }
}

test('by message are all that are held, and none that has been dropped', () => {
  const { all, ofMessage } = held(25, 1_000)
  // what waits to be sorted in is held, too, until it is
  const last = new Set(all())
  const byMessage = Array.from({ length: 11 }, (_, index) => [...ofMessage(`m${index}`)]).flat()
  expect(byMessage.length).toBe(25)
  expect(new Set(byMessage)).toEqual(last)
})

const letter = { deliveryId: 'd1', time: 1_000 }
const after = (startedAt: number, outcome: 'delivered' | 'retry', deliveryId = 'd1') =>
  anAttempt({ startedAt, outcome, deliveryId })

test('of a dead letter that was replayed it is told that it was delivered, else how the last attempt went', () => {
  expect(afterwards(letter, [after(999, 'retry'), after(2_000, 'delivered', 'd2')])).toBeNull()
  expect(afterwards(letter, [after(3_000, 'retry'), after(2_000, 'retry')])).toEqual({
    outcome: 'retry',
    at: '1970-01-01T00:00:03.000Z',
  })
  expect(afterwards(letter, [after(3_000, 'retry'), after(2_000, 'delivered')])?.outcome).toBe('delivered')
})
