import { afterEach, expect, test, vi } from 'vitest'
import { createFailureLog } from '../../kafka/admin/failures.ts'
import { createCommitter, packMetadata } from '../../kafka/consume/commits.ts'
import { StartPositions } from '../../kafka/consume/start-positions.ts'
import { packAhead, Tracker } from '../../kafka/consume/tracker.ts'
import type { Committed } from '../../kafka/patches/log-watch/watch.ts'
import { createLog } from '../../process/log.ts'

const connection = {
  log: createLog({ role: 'test', level: 'silent' }),
  failures: { add: () => undefined },
}
afterEach(() => void vi.useRealTimers())

const partitions = [{ topic: 'work', partition: 0 }]

test('a commit that Kafka refuses is repeated with the next one, and no other is', async () => {
  const held = {
    ...{ topic: 'work', partition: 0, dirty: true },
    tracker: new Tracker({ offset: 7, ahead: '' }),
  }
  const answers = [Promise.reject(new Error('rebalancing')), Promise.resolve(), Promise.resolve()]
  let commits = 0
  const commit = createCommitter({
    connection,
    groupId: 'workers',
    consumer: { commitOffsets: () => answers[commits++] ?? expect.fail('it commits nothing new') },
    known: () => undefined,
    dirty: () => [held].filter(({ dirty }) => dirty),
  })
  await commit()
  expect([commits, held.dirty]).toEqual([1, true])
  await commit()
  await commit()
  expect([commits, held.dirty]).toEqual([2, false])
})

/** The commit says 10; 14 was settled ahead of it. @returns what is compared with the logs. */
async function compared(kept: number | undefined): Promise<number[]> {
  const log = { id: 'a'.repeat(22), epoch: 3 }
  const metadata = packMetadata({ ahead: packAhead(10, [14]), log, time: 5 })
  const offsets = [{ topic: 'work', partitions: [{ partition: 0, offset: '10', metadata }] }]
  const admin = {
    connect: async () => undefined,
    disconnect: async () => undefined,
    fetchOffsets: async () => offsets,
  }
  const asked: Committed[] = []
  const positions = new StartPositions({
    connection: { ...connection, kafka: { admin: () => admin } },
    groupId: 'workers',
    topics: ['work'],
    logs: {
      check: async (places) => {
        asked.push(...places)
        return new Map()
      },
      seek: () => undefined,
    },
    onFault: () => undefined,
  })
  await positions.read(
    partitions,
    () => kept,
    () => false,
  )
  return asked.map(({ offset }) => offset)
}

test('a log is compared up to the last record that the commit knows, even one settled ahead', async () => {
  expect(await compared(undefined)).toEqual([15])
})

test('a partition that the member keeps is compared only if another member has read on', async () => {
  expect([await compared(9), await compared(10)]).toEqual([[15], []])
})

const COMMITS = 'a consumer reads no records yet: it waits for the committed offsets of its group'
const LOGS = 'a consumer reads no records yet: it waits to compare the logs with the committed offsets'
const answers = async (): Promise<never[]> => []
const refuses = () => Promise.reject<never>(new Error('the coordinator loads'))
const never = () => new Promise<never>(() => {})

/** @returns what is logged in these seconds, while a broker answers other requests. */
async function warnedIn(seconds: number, kafka: { fetchOffsets?: typeof answers; check?: typeof never }) {
  vi.useFakeTimers()
  const lines: object[] = []
  const warn = (fields: object, text: string) => void lines.push({ text, ...fields })
  const failures = createFailureLog({ debug: () => undefined, info: () => undefined, warn } as never)
  const { fetchOffsets = answers, check = async () => new Map() } = kafka
  const admin = { connect: async () => undefined, disconnect: async () => undefined, fetchOffsets }
  const positions = new StartPositions({
    connection: { log: connection.log, failures, kafka: { admin: () => admin } },
    groupId: 'workers',
    topics: ['work'],
    logs: { check, seek: () => undefined },
    onFault: () => undefined,
  })
  void positions.read(
    partitions,
    () => undefined,
    () => false,
  )
  for (let second = 0; second < seconds; second++) {
    failures.answered()
    await vi.advanceTimersByTimeAsync(1_000)
  }
  await positions.close()
  return lines
}

test.each([
  ['the committed offsets are refused', { fetchOffsets: refuses }, COMMITS, 'the coordinator loads'],
  ['nobody answers what is committed', { fetchOffsets: never }, COMMITS, 'no answer yet'],
  ['the logs cannot be compared', { check: refuses }, LOGS, 'the coordinator loads'],
])(
  'a consumer that reads nothing because %s says so after ten seconds, and each minute',
  async (_, kafka, text, reason) => {
    expect(await warnedIn(75, kafka)).toMatchObject([
      { text, reason, groupId: 'workers', seconds: 10 },
      { text, reason, groupId: 'workers', seconds: 70 },
    ])
  },
)

test('a start that takes less is not logged, nor anything after it', async () => {
  const fetchOffsets = () => new Promise<never[]>((resolve) => void setTimeout(resolve, 9_000, []))
  expect(await warnedIn(75, { fetchOffsets })).toEqual([])
})
