import { expect, test } from 'vitest'
import { loadOf } from '../../kafka/consume/consume.ts'
import { Tracker } from '../../kafka/consume/tracker.ts'

const aTracker = (times: readonly number[]) => {
  const tracker = new Tracker({ offset: 0, ahead: '' })
  times.forEach((time, offset) => void tracker.take(offset, time))
  return { tracker }
}

test('of several partitions the unsettled are added, and the oldest of all is told', () => {
  expect(loadOf([aTracker([30, 40]), aTracker([]), aTracker([20])])).toEqual({
    partitions: 3,
    unsettled: 3,
    oldest: 20,
  })
})

test('where nothing is unsettled there is no oldest', () => {
  expect(loadOf([aTracker([])])).toEqual({ partitions: 1, unsettled: 0, oldest: undefined })
  expect(loadOf([])).toEqual({ partitions: 0, unsettled: 0, oldest: undefined })
})
