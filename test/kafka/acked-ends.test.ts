import { describe, expect, test } from 'vitest'
import { AckedEnds } from '../../kafka/produce/acked-ends.ts'

type Ends = Record<number, number>

function written() {
  const told: object[] = []
  let wanted = 0
  const onDoubt = () => void wanted++
  const all = new AckedEnds((fault) => void told.push(fault), onDoubt)
  const acked = (partition: number, base: number, count: number, leader = 1) =>
    all.add(new Map([['work', new Map([[partition, { base, count, leader }]])]]))
  /**
   * @param starts of the last epoch; by default the ends.
   * @param meanwhile happens while the brokers are asked.
   */
  function compare(
    ends: Ends,
    { id = 'a', starts = {} as Ends, leader = 1, isComplete = true, meanwhile = () => {} } = {},
  ): void {
    const before = all.snapshot()
    meanwhile()
    const present = Object.entries(ends).map(([partition, end]) => ({
      ...{ topic: 'work', id, leader, end },
      ...{ partition: Number(partition), start: starts[Number(partition)] ?? end },
    }))
    all.compare(before, present, isComplete)
  }
  return { told, acked, compare, wanted: () => wanted }
}

const loss = (partition: number, offset: number, to: number) => ({
  topic: 'work',
  partition,
  cause: 'truncated',
  offset,
  to,
})

test('when an offset is acknowledged again, the records from there on are reported as lost', () => {
  const { told, acked } = written()
  acked(0, 0, 10)
  acked(1, 0, 3)
  acked(0, 10, 5)
  acked(0, -1, 5) // from a broker that does not say it
  acked(0, 20, 4) // of others in between
  expect(told).toEqual([])
  acked(0, 22, 1)
  expect(told).toEqual([loss(0, 24, 22)])
  acked(0, 23, 1)
  expect(told).toHaveLength(1)
})

test('records behind the end of the log are reported as lost, once', () => {
  const { told, acked, compare } = written()
  acked(0, 0, 10)
  acked(1, 0, 10)
  acked(2, 0, 10)
  compare({ 0: 10, 1: 15, 2: 7, 3: 0 })
  expect(told).toEqual([loss(2, 10, 7)])
  compare({ 0: 10, 1: 15, 2: 7, 3: 0 })
  acked(2, 7, 1)
  expect(told).toHaveLength(1)
})

test('what others wrote after a loss does not hide where it began', () => {
  const { told, acked, compare, wanted } = written()
  for (const partition of [0, 1, 2]) acked(partition, 0, 10)
  expect(wanted()).toBe(0)
  acked(0, 8, 1)
  acked(1, 8, 1)
  expect(told).toEqual([loss(0, 10, 8), loss(1, 10, 8)])
  expect(wanted()).toBe(2)
  compare({ 0: 12, 1: 12, 2: 9 }, { starts: { 0: 5, 1: 8, 2: 6 } })
  expect(told.slice(2)).toEqual([loss(0, 8, 5), loss(2, 10, 6)])
  compare({ 0: 12, 1: 12, 2: 9 }, { starts: { 0: 5, 1: 8, 2: 6 } })
  expect(told).toHaveLength(4)
})

test('where a loss began is not judged by what a leader answered before it', () => {
  const { told, acked, compare } = written()
  acked(0, 500, 10)
  // the log is cut after its leader has answered, while another broker is still asked
  compare({ 0: 510 }, { starts: { 0: 20 }, meanwhile: () => acked(0, 508, 1) })
  expect(told).toEqual([loss(0, 510, 508)])
  compare({ 0: 509 }, { starts: { 0: 505 } })
  expect(told.slice(1)).toEqual([loss(0, 508, 505)])
})

test('records that are acknowledged during the comparison are not reported as lost', () => {
  const { told, acked, compare } = written()
  acked(0, 0, 10)
  compare({ 0: 10 }, { meanwhile: () => acked(0, 10, 5) })
  expect(told).toEqual([])
  compare({ 0: 12 }, { meanwhile: () => acked(0, 12, 1) })
  expect(told).toEqual([loss(0, 15, 12)])
})

test('no loss is reported for a topic that was created again', () => {
  const { told, acked, compare } = written()
  acked(0, 0, 10)
  acked(1, 0, 10)
  acked(2, 0, 10)
  compare({ 0: 10, 1: 10, 2: 10 })
  acked(2, 5, 1)
  told.splice(0)
  compare({ 0: 2, 1: 0, 2: 0 }, { id: 'b' })
  acked(0, 2, 1)
  expect(told).toEqual([])
})

describe('a new leader that has lost records and written as many since', () => {
  test('is noticed when it acknowledges records', () => {
    const { told, acked, compare, wanted } = written()
    acked(0, 0, 10)
    acked(0, 12, 1, 2)
    expect([told, wanted()]).toEqual([[], 1])
    for (let times = 0; times < 2; times++) compare({ 0: 13 }, { leader: 2, starts: { 0: 7 } })
    expect(told).toEqual([loss(0, 10, 7)])
  })

  test('is noticed after an election, and once', () => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    for (let times = 0; times < 2; times++) compare({ 0: 15 }, { leader: 2, starts: { 0: 7 } })
    acked(0, 15, 1, 2)
    compare({ 0: 16 }, { leader: 2, starts: { 0: 7 } })
    expect(told).toEqual([loss(0, 10, 7)])
  })

  test('counts only once all brokers have answered: one that is cut off may count itself as leader', () => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    acked(0, 12, 1, 2)
    acked(1, 0, 10)
    const answers = { leader: 3, starts: { 0: 7, 1: 7 } }
    compare({ 0: 13, 1: 13 }, { ...answers, isComplete: false })
    expect(told).toEqual([])
    compare({ 0: 13, 1: 13 }, answers)
    expect(told).toEqual([loss(0, 13, 7), loss(1, 10, 7)])
  })

  test('is not one that has lost nothing', () => {
    const { told, acked, compare, wanted } = written()
    acked(0, 0, 10)
    acked(0, 10, 1, 2)
    compare({ 0: 11 }, { leader: 2, starts: { 0: 10 } })
    acked(0, 11, 1, 2)
    compare({ 0: 12 }, { leader: 3, starts: { 0: 12 } })
    acked(0, 12, 1, 3)
    compare({ 0: 13 }, { leader: 3, starts: { 0: 12 } })
    expect([told, wanted()]).toEqual([[], 1])
  })

  test('is not one that does not know where its epoch began', () => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    acked(1, 0, 10)
    acked(1, 12, 1, 2)
    compare({ 0: 15, 1: 15 }, { leader: 2, starts: { 0: -1, 1: -1 } })
    expect(told).toEqual([])
  })

  test('is not one whose log was shorter at the last comparison', () => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    compare({ 0: 8 }, { leader: 2, starts: { 0: 6 } })
    expect(told).toEqual([loss(0, 10, 6)])
    acked(0, 8, 1, 2)
    compare({ 0: 9 }, { leader: 2, starts: { 0: 6 } })
    expect(told).toHaveLength(1)
  })
})

describe('of two losses in one log, no record is reported twice', () => {
  test.each([
    ['a shorter log, then a new leader', [[8, 1, 2]], { 0: 12 }, [loss(0, 10, 8), loss(0, 9, 5)]],
    ['a shorter log, then an even shorter one', [[8, 1, 1]], { 0: 7 }, [loss(0, 10, 8), loss(0, 9, 5)]],
    ['a new leader, then a shorter log', [[12, 1, 2]], { 0: 9 }, [loss(0, 13, 5)]],
    [
      'a new leader, then an offset again',
      [
        [12, 1, 2],
        [8, 1, 3],
      ],
      { 0: 12 },
      [loss(0, 13, 8), loss(0, 8, 5)],
    ],
  ] as const)('%s', (_, later, ends, losses) => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    for (const [base, count, leader] of later) acked(0, base, count, leader)
    for (let times = 0; times < 2; times++) compare(ends, { leader: 3, starts: { 0: 5 } })
    expect(told).toEqual(losses)
  })

  test('also if the log is cut again behind the first loss', () => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    compare({ 0: 15 }, { leader: 2, starts: { 0: 7 } })
    acked(0, 8, 1, 2)
    expect(told).toEqual([loss(0, 10, 7)])
  })

  test('also if the first comparison lacked brokers', () => {
    const { told, acked, compare } = written()
    acked(0, 0, 10)
    acked(0, 12, 1, 2)
    for (const isComplete of [false, true]) compare({ 0: 9 }, { leader: 3, starts: { 0: 5 }, isComplete })
    expect(told).toEqual([loss(0, 13, 5)])
  })
})
