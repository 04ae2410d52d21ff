import { pino } from 'pino'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Assignment, type Held, type PartitionWatch } from '../../kafka/consume/assignment.ts'
import { packMetadata } from '../../kafka/consume/commits.ts'
import { MAX_SPAN, packAhead } from '../../kafka/consume/tracker.ts'
import type { KnownLog, LogFault } from '../../kafka/log-faults.ts'

const LOG: KnownLog = { id: 'a'.repeat(22), epoch: 3 }

function bookkeeping({ highWater = 400 } = {}) {
  const paused = new Set<number>()
  const commits: { partition: number; offset: string; metadata?: string }[] = []
  const state = {
    ...{ committed: '0', metadata: '', restarting: false, faults: new Map<string, LogFault>() },
    whileCompared: () => {},
  }
  const reach = () => {
    if (state.restarting)
      throw new Error('Consumer group was not initialized, consumer#run must be called first')
  }
  const consumer = {
    pause: ([given]: { partitions?: number[] }[]) => {
      reach()
      for (const partition of given?.partitions ?? []) paused.add(partition)
    },
    resume: (given: { partitions?: number[] }[]) => {
      reach()
      for (const partition of given.flatMap(({ partitions }) => partitions ?? [])) paused.delete(partition)
    },
    paused: () => [{ topic: 'work', partitions: [...paused] }],
    commitOffsets: async (offsets: { partition: number; offset: string }[]) => void commits.push(...offsets),
  }
  const admin = {
    connect: async () => undefined,
    disconnect: async () => undefined,
    fetchOffsets: async () => [
      { topic: 'work', partitions: [{ partition: 0, offset: state.committed, metadata: state.metadata }] },
    ],
  }
  const warned: object[] = []
  const connection = {
    kafka: { admin: () => admin },
    log: Object.assign(pino({ level: 'silent' }), { warn: (of: object) => void warned.push(of) }),
    failures: { add: () => undefined },
  }
  const told: string[] = []
  const compared: number[] = []
  const watch: PartitionWatch = {
    gained: (partitions) => {
      for (const { partition, lostFrom } of partitions)
        told.push(`gained ${partition}${lostFrom === undefined ? '' : `, lost from ${lostFrom}`}`)
    },
    lost: ({ partition }) => void told.push(`lost ${partition}`),
  }
  const logs = {
    check: async (places: readonly { offset: number }[]) => {
      compared.push(...places.map(({ offset }) => offset))
      state.whileCompared()
      return state.faults
    },
    forget: () => undefined,
    known: () => LOG,
    seek: ({ offset }: { offset: number }) => void told.push(`seek ${offset}`),
  }
  const onFault = ({ cause }: { cause: string }) => void told.push(cause)
  const options = { connection, consumer, logs, onFault, groupId: 'work', topics: ['work'], highWater, watch }
  const assignment = new Assignment(options)
  assignment.assign({ work: [0] })
  return { assignment, paused, commits, state, told, compared, warned }
}

/** A partition of this member. */
async function heldOf(assignment: Assignment, partition: number): Promise<Held> {
  const found = await assignment.held('work', partition)
  if (!found) throw new Error(`partition ${partition} is not held`)
  return found
}

const take = (held: Held, from: number, to: number) => {
  for (let offset = from; offset < to; offset++) held.tracker.take(offset, 0)
}

test.each([
  ['0', '', 0],
  ['7', packMetadata({ ahead: '' }), 0],
  ['7', '', 1],
  ['7', 'by hand', 1],
])(
  'an offset %s committed with metadata %j is logged %i times: another program may have skipped records',
  async (committed, metadata, times) => {
    const { assignment, state, warned } = bookkeeping()
    Object.assign(state, { committed, metadata }) // before it is asked for
    const held = await heldOf(assignment, 0)
    expect(held.tracker.next().offset).toBe(Number(committed))
    expect(warned).toEqual(
      Array.from({ length: times }, () => ({ groupId: 'work', topic: 'work', partition: 0, offset: 7 })),
    )
  },
)

test('a full partition whose records were released in a rebalance resumes when they are taken again and settled', async () => {
  const { assignment, paused } = bookkeeping()
  const held = await heldOf(assignment, 0)
  take(held, 0, 475)
  assignment.pauseIfFull(held)
  assignment.disown()
  for (let offset = 0; offset < 40; offset++) assignment.settle(held, offset)
  for (let offset = 40; offset < 475; offset++) held.tracker.release(offset)
  assignment.assign({ work: [0] })

  take(await heldOf(assignment, 0), 40, 135)
  assignment.pauseIfFull(held)
  for (let offset = 40; offset < 135; offset++) assignment.settle(held, offset)
  expect([...paused]).toEqual([])
})

test('a batch of a partition that another member has by now pauses nothing', async () => {
  const { assignment, told } = bookkeeping()
  await heldOf(assignment, 0)
  assignment.assign({ work: [1] })
  expect(await assignment.held('work', 0)).toBeUndefined()
  expect(told).toEqual(['gained 0', 'lost 0', 'gained 1'])
})

test('a member that joins while it is closed fetches nothing: it would drop the records and ask for them again', async () => {
  const { assignment, paused } = bookkeeping()
  await heldOf(assignment, 0)
  assignment.pauseAll()
  assignment.assign({ work: [0, 1] })
  expect([...paused]).toEqual([0, 1])
})

describe('a partition with more settled ahead than a commit can state', () => {
  const FAR = MAX_SPAN / 2 + 100
  afterEach(() => void vi.useRealTimers())

  test('waits until the records in flight before that are settled', async () => {
    const { assignment, paused } = bookkeeping({ highWater: FAR * 2 })
    const held = await heldOf(assignment, 0)
    take(held, 0, FAR)
    for (let offset = 1; offset < FAR; offset++) assignment.settle(held, offset)
    expect(assignment.pauseIfFull(held)).toBe(true)
    assignment.settle(held, 0)
    expect([...paused]).toEqual([])
  })

  test('does not wait for released records: they have to be fetched again', async () => {
    const { assignment, paused } = bookkeeping({ highWater: FAR * 2 })
    const held = await heldOf(assignment, 0)
    take(held, 0, FAR)
    for (let offset = 1; offset < FAR; offset++) assignment.settle(held, offset)
    held.tracker.release(0)
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
    assignment.pauseUntil(held, Date.now() + 100)
    assignment.pauseIfFull(held)
    vi.advanceTimersByTime(100)
    expect([...paused]).toEqual([])
  })

  test('resumes when the last record in flight is settled, though an earlier one was released', async () => {
    const { assignment, paused } = bookkeeping({ highWater: FAR * 2 })
    const held = await heldOf(assignment, 0)
    take(held, 0, FAR)
    for (let offset = 2; offset < FAR; offset++) assignment.settle(held, offset)
    held.tracker.release(0)
    assignment.pauseIfFull(held)
    expect([...paused]).toEqual([0])
    assignment.settle(held, 1)
    expect([...paused]).toEqual([])
  })
})

test('a partition that another member has advanced starts from there and is never committed back', async () => {
  const { assignment, commits, state } = bookkeeping()
  const old = await heldOf(assignment, 0)
  take(old, 0, 100)
  state.committed = '1000'
  assignment.assign({ work: [0] })
  assignment.settle(old, 0)
  await assignment.commit() // before the group's commit is known
  const held = await heldOf(assignment, 0)
  take(held, 1_000, 1_002)
  assignment.settle(held, 1_000)
  await assignment.commit()
  expect(commits.map(({ offset }) => offset)).toEqual(['1001'])
})

describe('a partition that comes back, in which another member has settled records after one that is still open,', () => {
  /** Of offsets 0 to 9, this member has settled 3, and the other one 5. @returns what is handled again. */
  async function again(log: KnownLog | undefined): Promise<number[]> {
    const { assignment, state, told } = bookkeeping()
    const before = await heldOf(assignment, 0)
    take(before, 0, 4)
    assignment.settle(before, 3)
    state.metadata = packMetadata({ ahead: packAhead(0, [5]), log })
    assignment.assign({ work: [0] })
    const held = await heldOf(assignment, 0)
    if (held !== before) expect(told.splice(0)).toEqual(['gained 0', 'lost 0', 'gained 0'])
    return [3, 4, 5, 6].filter((offset) => held.tracker.take(offset, 0))
  }

  test('goes on without them, and without those that it has settled itself', async () => {
    expect(await again(LOG)).toEqual([4, 6])
  })

  test('commits what either has settled at once: its next record may come late', async () => {
    const { assignment, commits, state } = bookkeeping()
    const before = await heldOf(assignment, 0)
    take(before, 0, 4)
    assignment.settle(before, 3)
    state.metadata = packMetadata({ ahead: packAhead(0, [5]), log: LOG })
    assignment.assign({ work: [0] })
    await heldOf(assignment, 0)
    await assignment.commit()
    expect(commits).toMatchObject([
      { offset: '0', metadata: packMetadata({ ahead: packAhead(0, [3, 5]), log: LOG, time: 0 }) },
    ])
  })

  test('reads them again if they may have been in a log that was cut since', async () => {
    expect(await again({ ...LOG, epoch: 2 })).toEqual([4, 5, 6])
    expect(await again({ ...LOG, id: 'b'.repeat(22) })).toEqual([4, 5, 6])
    expect(await again(undefined)).toEqual([4, 5, 6])
  })
})

test('a partition whose commit says only what its member has settled keeps its records in flight', async () => {
  const { assignment, state, told } = bookkeeping()
  const held = await heldOf(assignment, 0)
  take(held, 0, 5)
  for (const offset of [1, 3]) assignment.settle(held, offset)
  state.metadata = packMetadata({ ahead: packAhead(0, [1, 3]), log: LOG })
  // not committed yet
  assignment.settle(held, 0)
  assignment.assign({ work: [0] })
  expect(await heldOf(assignment, 0)).toBe(held)
  expect(told).toEqual(['gained 0'])
})

test('a log is compared up to the last record settled ahead: a cut before it would let new records pass as settled', async () => {
  const { assignment, state, compared } = bookkeeping()
  Object.assign(state, { committed: '50', metadata: packMetadata({ ahead: packAhead(50, [60, 99]) }) })
  await heldOf(assignment, 0)
  expect(compared).toEqual([100])
})

test('a kept partition that another member has advanced in a log that was then cut is read again from the cut', async () => {
  const { assignment, state } = bookkeeping()
  take(await heldOf(assignment, 0), 0, 100)
  Object.assign(state, { committed: '120' })
  state.faults.set('work/0', { topic: 'work', partition: 0, cause: 'truncated', offset: 120, to: 60 })
  for (let offset = 0; offset < 90; offset++) assignment.settle(await heldOf(assignment, 0), offset)
  assignment.assign({ work: [0] })
  const held = await heldOf(assignment, 0)
  const taken = [59, 60, 61].filter((offset) => held.tracker.take(offset, 0))
  expect(taken).toEqual([60, 61])
})

test('a partition that is given up before its start is known is not owned until the next join', async () => {
  const { assignment } = bookkeeping()
  assignment.disown()
  const held = await heldOf(assignment, 0)
  expect([held.owned, assignment.owns()]).toEqual([false, false])
  assignment.assign({ work: [0] })
  expect((await heldOf(assignment, 0)).owned).toBe(true)
})

test('a kept partition whose log is cut during a rebalance is read from the cut, not from its last commit', async () => {
  const { assignment, state } = bookkeeping()
  const before = await heldOf(assignment, 0)
  take(before, 0, 100)
  for (let offset = 0; offset < 90; offset++) assignment.settle(before, offset)
  const cut: LogFault = { topic: 'work', partition: 0, cause: 'truncated', offset: 100, to: 60 }
  Object.assign(state, { committed: '90', whileCompared: () => assignment.restart(cut) })
  assignment.assign({ work: [0] })
  const held = await heldOf(assignment, 0)
  const taken = [59, 60, 61].filter((offset) => held.tracker.take(offset, 0))
  expect(taken).toEqual([60, 61])
})

test.each([
  ['is valid', new Map<string, LogFault>()],
  [
    'was cut too',
    new Map([['work/0', { topic: 'work', partition: 0, cause: 'truncated', offset: 90, to: 70 }]]),
  ],
])(
  'a kept partition whose log is cut while the commit of another member, which %s, is compared, is read from the first unsettled record before the cut',
  async (_, faults) => {
    const { assignment, state, told } = bookkeeping()
    const before = await heldOf(assignment, 0)
    take(before, 0, 40)
    for (let offset = 0; offset < 40; offset++) if (offset !== 10) assignment.settle(before, offset)
    const cut: LogFault = { topic: 'work', partition: 0, cause: 'truncated', offset: 40, to: 20 }
    const whileCompared = () => void told.push(`restarted at ${assignment.restart(cut)}`)
    Object.assign(state, { committed: '90', whileCompared, faults })
    assignment.assign({ work: [0] })
    const held = await heldOf(assignment, 0)
    const taken = [9, 10, 15, 20, 21].filter((offset) => held.tracker.take(offset, 0))
    expect(taken).toEqual([10, 20, 21])
    const moves = told.filter((each) => /seek|restarted/.test(each))
    expect(moves.at(-1)).toMatch(/ 10$/)
  },
)

test('a kept partition whose unread end is cut while the commit of another member is compared loses no new record', async () => {
  const { assignment, state } = bookkeeping()
  const before = await heldOf(assignment, 0)
  take(before, 0, 40)
  for (let offset = 0; offset < 40; offset++) assignment.settle(before, offset)
  const cut: LogFault = { topic: 'work', partition: 0, cause: 'truncated', offset: 40, to: 60 }
  Object.assign(state, { committed: '90', whileCompared: () => void assignment.restart(cut) })
  assignment.assign({ work: [0] })
  const held = await heldOf(assignment, 0)
  // the commit is from before the cut
  expect([39, 40, 60, 90].filter((offset) => held.tracker.take(offset, 0))).toEqual([40, 60, 90])
})

test('a kept partition is committed again after a rebalance: the last commit may have been lost', async () => {
  const { assignment, commits } = bookkeeping()
  const held = await heldOf(assignment, 0)
  take(held, 0, 3)
  assignment.settle(held, 0)
  await assignment.commit()
  assignment.assign({ work: [0] })
  await heldOf(assignment, 0)
  await assignment.commit()
  expect(commits.map(({ offset }) => offset)).toEqual(['1', '1'])
})

test('nothing is thrown while the consumer restarts and cannot be paused or resumed', async () => {
  const { assignment, state } = bookkeeping({ highWater: 2 })
  const held = await heldOf(assignment, 0)
  take(held, 0, 3)
  assignment.pauseIfFull(held)
  state.restarting = true
  for (const offset of [0, 1, 2]) assignment.settle(held, offset)
  assignment.pauseUntil(held, Date.now() + 60_000)
  expect(() => assignment.pauseAll()).not.toThrow()
})

test('an old batch does not pause a partition that was lost and regained', async () => {
  const { assignment, paused } = bookkeeping({ highWater: 2 })
  const old = await heldOf(assignment, 0)
  take(old, 0, 3)
  assignment.assign({})
  assignment.assign({ work: [0] })
  await heldOf(assignment, 0)
  assignment.pauseIfFull(old)
  assignment.pauseUntil(old, Date.now() + 60_000)
  expect([...paused]).toEqual([])
})

describe('a partition that is held', () => {
  const SECOND = 1_000
  const HOUR = 3_600 * SECOND
  afterEach(() => void vi.useRealTimers())

  /** From here on, only the test moves the clock. */
  async function held(forMs: number) {
    const kafka = bookkeeping()
    const partition = await heldOf(kafka.assignment, 0)
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] })
    const until = Date.now() + forMs
    kafka.assignment.pauseUntil(partition, until)
    const setClock = (byMs: number) => vi.setSystemTime(Date.now() + byMs)
    return { ...kafka, partition, until, setClock, isHeld: () => kafka.paused.has(0) }
  }

  test('resumes at its time, and not before', async () => {
    const { isHeld } = await held(2 * HOUR)
    vi.advanceTimersByTime(2 * HOUR - 1)
    expect(isHeld()).toBe(true)
    vi.advanceTimersByTime(1)
    expect(isHeld()).toBe(false)
  })

  test('resumes within a second when the wall clock is set past its time', async () => {
    const { isHeld, setClock } = await held(HOUR)
    vi.advanceTimersByTime(10 * SECOND + 1)
    setClock(HOUR)
    vi.advanceTimersByTime(SECOND)
    expect(isHeld()).toBe(false)
  })

  test('keeps waiting when the wall clock is set forward, but not past its time', async () => {
    const { isHeld, setClock } = await held(HOUR)
    setClock(HOUR - 5 * SECOND)
    vi.advanceTimersByTime(5 * SECOND - 1)
    expect(isHeld()).toBe(true)
    vi.advanceTimersByTime(1)
    expect(isHeld()).toBe(false)
  })

  test('resumes after its original wait when the wall clock is set back', async () => {
    const { assignment, partition, until, isHeld, setClock } = await held(5 * SECOND)
    setClock(-HOUR)
    vi.advanceTimersByTime(5 * SECOND - 1)
    expect(isHeld()).toBe(true)
    vi.advanceTimersByTime(1)
    expect(isHeld()).toBe(false)
    // the rung's first record is not due yet: held for as long as the clock was set back
    assignment.pauseUntil(partition, until)
    vi.advanceTimersByTime(HOUR - 1)
    expect(isHeld()).toBe(true)
    vi.advanceTimersByTime(1)
    expect(isHeld()).toBe(false)
  })

  test('waits for the last hold, not for earlier ones', async () => {
    const { assignment, partition, isHeld } = await held(SECOND)
    assignment.pauseUntil(partition, Date.now() + 3 * SECOND)
    vi.advanceTimersByTime(3 * SECOND - 1)
    expect(isHeld()).toBe(true)
  })

  test.each([Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER])('until %d stays held', async (until) => {
    const { assignment, partition, isHeld } = await held(0)
    assignment.pauseUntil(partition, until)
    vi.advanceTimersByTime(26 * HOUR)
    expect(isHeld()).toBe(true)
  })

  test('leaves no timer when it is lost', async () => {
    const { assignment } = await held(HOUR)
    assignment.assign({})
    expect(vi.getTimerCount()).toBe(0)
  })

  test('leaves no timer when the consumer closes', async () => {
    const { assignment } = await held(HOUR)
    assignment.pauseAll()
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('a partition watch is told of partitions gained, lost, or regained from others, and not of kept ones', async () => {
  const { assignment, state, told } = bookkeeping()
  await heldOf(assignment, 0)
  expect(told.splice(0)).toEqual(['gained 0'])
  assignment.assign({ work: [0, 1] })
  await heldOf(assignment, 1)
  expect(told.splice(0)).toEqual(['gained 1'])
  state.committed = '1000'
  assignment.assign({ work: [0] })
  await heldOf(assignment, 0)
  expect(told.splice(0)).toEqual(['lost 1', 'lost 0', 'gained 0'])
})

describe('when a log is not the one that was read', () => {
  const fault = (cause: LogFault['cause'], to: number): LogFault => ({
    topic: 'work',
    partition: 0,
    cause,
    offset: 10,
    to,
  })

  test('reading restarts at the cut, and records in flight before it are read again', async () => {
    const { assignment, told } = bookkeeping()
    const held = await heldOf(assignment, 0)
    take(held, 0, 10)
    for (const offset of [0, 1, 3, 8]) assignment.settle(held, offset)
    expect(assignment.fetchPosition('work', 0)?.offset).toBe(10)
    expect(assignment.restart(fault('truncated', 6))).toBe(2)
    expect(told).toEqual(['gained 0', 'truncated', 'lost 0', 'gained 0, lost from 6'])
    expect(assignment.isHeld(held)).toBe(false)
    const fresh = await heldOf(assignment, 0)
    const taken = Array.from({ length: 8 }, (_, index) => index + 2).filter((offset) =>
      fresh.tracker.take(offset, 0),
    )
    // 3 is settled; 8 was too, but as another record
    expect(taken).toEqual([2, 4, 5, 6, 7, 8, 9])
  })

  test('records in flight before the cut do not settle the present ones', async () => {
    const { assignment } = bookkeeping()
    const held = await heldOf(assignment, 0)
    take(held, 0, 10)
    assignment.restart(fault('recreated', 0))
    const fresh = await heldOf(assignment, 0)
    take(fresh, 0, 10)
    for (let offset = 0; offset < 10; offset++) assignment.settle(held, offset)
    expect(fresh.tracker.position().offset).toBe(0)
    expect(held.owned).toBe(true)
  })

  test('records removed at the front are skipped, and nothing else changes', async () => {
    const { assignment } = bookkeeping()
    const held = await heldOf(assignment, 0)
    take(held, 0, 10)
    expect(assignment.restart(fault('removed', 40))).toBe(40)
    expect(assignment.isHeld(held)).toBe(true)
    take(held, 40, 41)
    assignment.settle(held, 40)
    expect(held.tracker.position().offset).toBe(0)
  })

  test('records removed at the front are reported once, and the commit moves past them even when no record comes', async () => {
    const { assignment, commits } = bookkeeping()
    await heldOf(assignment, 0)
    assignment.restart(fault('removed', 40))
    expect(assignment.fetchPosition('work', 0)?.offset).toBe(40)
    await assignment.commit()
    expect(commits.map(({ offset }) => offset)).toEqual(['40'])
  })

  test.each([10, 30])(
    'unread records cut off from %d on are reported, and nothing is read again',
    async (to) => {
      const { assignment, told } = bookkeeping()
      const held = await heldOf(assignment, 0)
      take(held, 0, 10)
      held.end = 50
      expect(assignment.fetchPosition('work', 0)).toMatchObject({ offset: 10, end: 50 })
      expect(assignment.restart(fault('truncated', to))).toBe(10)
      expect(told).toEqual(['gained 0', 'truncated'])
      expect(assignment.isHeld(held)).toBe(true)
      // the next leader has a different end
      expect(assignment.fetchPosition('work', 0)?.end).toBe(to)
    },
  )

  test.each([10, 30])(
    'a held record comes again after unread records were cut off from %d on',
    async (to) => {
      const { assignment } = bookkeeping()
      const held = await heldOf(assignment, 0)
      take(held, 0, 10)
      held.tracker.release(7)
      held.tracker.release(9)
      held.end = 50
      expect(assignment.restart(fault('truncated', to))).toBe(7)
      const taken = [7, 8, 9, 10].filter((offset) => held.tracker.take(offset, 0))
      expect(taken).toEqual([7, 9, 10])
    },
  )

  test('a restarted consumer reads the gaps between settled records, although Kafka lost records behind them', async () => {
    const { assignment, state } = bookkeeping()
    state.metadata = packMetadata({ ahead: packAhead(0, [5, 7]) })
    assignment.assign({})
    assignment.assign({ work: [0] })
    const held = await heldOf(assignment, 0)
    take(held, 0, 3)
    for (const offset of [0, 1, 2]) assignment.settle(held, offset)
    held.end = 50
    expect(assignment.restart(fault('truncated', 20))).toBe(3)
    const taken = [3, 4, 5, 6, 7, 8].filter((offset) => held.tracker.take(offset, 0))
    expect(taken).toEqual([3, 4, 6, 8])
    expect(held.tracker.position().offset).toBe(3)
  })

  test('the time of the last record read is known from the commit, and behind a cut', async () => {
    const { assignment, state } = bookkeeping()
    state.metadata = packMetadata({ ahead: '', log: { id: 'A'.repeat(22), epoch: 3 }, time: 7_000 })
    assignment.assign({})
    assignment.assign({ work: [0] })
    await heldOf(assignment, 0)
    expect(assignment.fetchPosition('work', 0)?.time).toBe(7_000)
    assignment.restart(fault('truncated', 0))
    expect(assignment.fetchPosition('work', 0)?.time).toBe(7_000)
  })

  test('a full partition resumes', async () => {
    const { assignment, paused } = bookkeeping({ highWater: 5 })
    const held = await heldOf(assignment, 0)
    take(held, 0, 10)
    assignment.pauseIfFull(held)
    expect([...paused]).toEqual([0])
    assignment.restart(fault('truncated', 6))
    expect([...paused]).toEqual([])
  })

  test('a commit beyond the end of the log is not the start', async () => {
    const { assignment, state, told } = bookkeeping()
    await heldOf(assignment, 0)
    state.committed = '50'
    state.faults.set('work/0', fault('truncated', 30))
    assignment.assign({ work: [] })
    assignment.assign({ work: [0] })
    const held = await heldOf(assignment, 0)
    expect(held.tracker.position().offset).toBe(30)
    expect(told).toContain('seek 30')
    expect(told).toContain('gained 0, lost from 30')
  })

  test('a commit beyond the end of the log is replaced even when no record comes: it would be reported again', async () => {
    const { assignment, commits, state } = bookkeeping()
    await heldOf(assignment, 0)
    state.committed = '50'
    state.faults.set('work/0', fault('truncated', 30))
    assignment.assign({ work: [] })
    assignment.assign({ work: [0] })
    await heldOf(assignment, 0)
    await assignment.commit()
    expect(commits.map(({ offset }) => offset)).toEqual(['30'])
  })
})
