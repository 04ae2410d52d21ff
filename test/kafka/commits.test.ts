import { expect, test } from 'vitest'
import { createCommitter, packMetadata } from '../../kafka/consume/commits.ts'
import { StartPositions } from '../../kafka/consume/start-positions.ts'
import { packAhead, Tracker } from '../../kafka/consume/tracker.ts'
import type { Committed } from '../../kafka/patches/log-watch/watch.ts'
import { createLog } from '../../process/log.ts'

const connection = {
  log: createLog({ role: 'test', level: 'silent' }),
  failures: { add: () => undefined },
}
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
