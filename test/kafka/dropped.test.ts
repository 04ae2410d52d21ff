import { expect, test } from 'vitest'
import { lossesOf } from '../../kafka/produce/dropped.ts'

test('one line logs that records are dropped, another that they are written again, and each loss is counted', () => {
  const said: unknown[] = []
  const counted: number[] = []
  const log = {
    warn: (fields: object) => void said.push(fields),
    info: (fields: object) => void said.push(fields),
  }
  const { lost, written } = lossesOf('attempts', {
    log: log as never,
    onLost: (records) => void counted.push(records),
  })
  written()
  for (const records of [3, 4]) lost(records)
  for (let times = 0; times < 2; times++) written()
  expect(said).toEqual([{ topic: 'attempts' }, { topic: 'attempts', dropped: 7 }])
  lost(1)
  expect(said).toHaveLength(3)
  expect(counted).toEqual([3, 4, 1])
})
