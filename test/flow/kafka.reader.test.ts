import { expect, inject, test, vi } from 'vitest'
import { groupsOf } from '../../harness/kafka/topics.ts'
import { LOG_FAULTS } from '../../kafka/admin/lost-records.ts'
import type { Connection } from '../../kafka/client.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { Follower } from '../../kafka/tables/follower.ts'
import type { Range } from '../../kafka/tables/ranges.ts'
import { openReader, type Reader } from '../../kafka/tables/reader.ts'
import { JOIN_GROUP, NO_RIGHT, withAnswers } from '../helpers/answers.ts'
import { closing, connection } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

const onFatal = (error: Error) => {
  throw error
}

const open = async (kafka: Connection) =>
  closing(await openReader({ connection: kafka, topic: 'work', onFatal }))

/** In each of the four partitions; values are offsets. */
async function fill(kafka: Connection, count: number, from = 0): Promise<void> {
  const producer: Producer = closing(await createProducer(kafka))
  const records = [0, 1, 2, 3].flatMap((partition) =>
    Array.from({ length: count }, (_, index) => ({
      topic: 'work',
      partition,
      key: 'k',
      value: String(from + index),
    })),
  )
  expect(await producer.produce(records)).toBe('acked')
}

async function read(reader: Reader, range: Range): Promise<number[]> {
  const offsets: number[] = []
  await reader.read(range, (value, offset) => {
    expect(String(value)).toBe(String(offset))
    offsets.push(offset)
  })
  return offsets
}

test('reads exactly the requested ranges, in any order and of several partitions at once', async () => {
  const kafka = await connection([{}])
  await fill(kafka, 100)
  const reader = await open(kafka)
  expect(reader.partitions).toBe(4)
  expect((await reader.bounds()).get(2)).toEqual({ low: 0, high: 100 })
  expect(await read(reader, { partition: 2, from: 90, to: 93 })).toEqual([90, 91, 92])
  expect(await read(reader, { partition: 2, from: 3, to: 5 })).toEqual([3, 4])
  expect(await read(reader, { partition: 2, from: 7, to: 7 })).toEqual([])
  const several = [0, 1, 3].map((partition) => read(reader, { partition, from: 98, to: 100 }))
  expect(await Promise.all(several)).toEqual(Array(3).fill([98, 99]))
})

test('a caller that has enough gets no more of the range, and the next range is read from its start', async () => {
  const kafka = await connection([{}])
  await fill(kafka, 100)
  const reader = await open(kafka)
  const offsets: number[] = []
  await reader.read({ partition: 1, from: 10, to: 100 }, (_, offset) => {
    offsets.push(offset)
    return offset === 12 ? 'enough' : undefined
  })
  expect(offsets).toEqual([10, 11, 12])
  expect(await read(reader, { partition: 1, from: 11, to: 15 })).toEqual([11, 12, 13, 14])
  expect(await read(reader, { partition: 1, from: 97, to: 100 })).toEqual([97, 98, 99])
})

test('a caller that throws gets its error, and the next range is read', async () => {
  const kafka = await connection([{}])
  await fill(kafka, 100)
  const reader = await open(kafka)
  const reading = reader.read({ partition: 1, from: 10, to: 100 }, (value) => JSON.parse(`${value} {`))
  await expect(reading).rejects.toThrow(SyntaxError)
  expect(await read(reader, { partition: 1, from: 97, to: 100 })).toEqual([97, 98, 99])
})

test('records removed before they are read are skipped, and not reported as lost', async () => {
  const kafka = await connection([{}, { name: LOG_FAULTS, partitions: 1 }])
  await fill(kafka, 100)
  const reader = await open(kafka)
  const admin = kafka.kafka.admin()
  await admin.connect()
  // the admin client finds leaders only in metadata that it has fetched
  await admin.fetchTopicMetadata({ topics: [kafka.named('work')] })
  const partitions = [{ partition: 1, offset: '97' }]
  await admin.deleteTopicRecords({ topic: kafka.named('work'), partitions })
  await admin.disconnect()
  const told = vi.spyOn(kafka.log, 'error')
  expect(await read(reader, { partition: 1, from: 90, to: 100 })).toEqual([97, 98, 99])
  expect(told).not.toHaveBeenCalled()
})

test('records written after it was opened are within the bounds and can be read', async () => {
  const kafka = await connection([{}])
  const reader = await open(kafka)
  expect((await reader.bounds()).get(0)).toEqual({ low: 0, high: 0 })
  await fill(kafka, 5)
  await fill(kafka, 5, 5)
  expect((await reader.bounds()).get(0)).toEqual({ low: 0, high: 10 })
  expect(await read(reader, { partition: 0, from: 4, to: 10 })).toEqual([4, 5, 6, 7, 8, 9])
})

test('bounds are asked again while a broker does not lead a partition yet', async () => {
  const reader = await open(await connection([{}]))
  const notLeader = Object.assign(new Error('not the leader'), { type: 'NOT_LEADER_FOR_PARTITION' })
  vi.spyOn(Follower.prototype, 'bounds').mockRejectedValueOnce(notLeader).mockRejectedValueOnce(notLeader)
  expect((await reader.bounds()).get(0)).toEqual({ low: 0, high: 0 })
})

test('if the beginning of a range has been deleted, the rest is read', async () => {
  const kafka = await connection([{}])
  await fill(kafka, 10)
  const reader = await open(kafka)
  const admin = kafka.kafka.admin()
  await admin.connect()
  await admin.fetchTopicOffsets(kafka.named('work')) // else kafkajs does not know the leaders
  await admin.deleteTopicRecords({ topic: kafka.named('work'), partitions: [{ partition: 1, offset: '6' }] })
  await admin.disconnect()
  expect(await read(reader, { partition: 1, from: 2, to: 8 })).toEqual([6, 7])
  expect(await read(reader, { partition: 1, from: 0, to: 4 })).toEqual([])
})

test('one that cannot be opened leaves no consumer group behind', async () => {
  const kafka = await connection([{}])
  const { run } = Follower.prototype
  vi.spyOn(Follower.prototype, 'run').mockImplementationOnce(async function (this: Follower) {
    await run.call(this)
    throw new Error('no leader')
  })
  await expect(openReader({ connection: kafka, topic: 'work', onFatal })).rejects.toThrow('no leader')
  // closing waits at most two seconds for the group to be deleted
  await until(async () => (await groupsOf(kafka, 'reader.')).length === 0)
})

test('one whose user may not join its group cannot be opened', async () => {
  const kafka = await connection([{}])
  const { connection: behindDoor, errors } = await withAnswers(kafka, inject('kafkaBrokers'))
  const onFatal = vi.fn()
  errors.push({ key: JOIN_GROUP, error: NO_RIGHT })
  const opening = openReader({ connection: behindDoor, topic: 'work', onFatal })
  await expect(opening).rejects.toThrow(/not authorized/i)
  expect(onFatal).toHaveBeenCalledOnce()
})

test('ranges of one partition are read one after another, each completely, in the order of the requests', async () => {
  const kafka = await connection([{}])
  await fill(kafka, 200)
  const reader = await open(kafka)
  const begun: number[] = []
  const ranges = [0, 150, 50, 150].map((from) => ({ partition: 0, from, to: from + 20 }))
  const reading = ranges.map(async ({ from, ...range }, index) => {
    const offsets: number[] = []
    await reader.read({ ...range, from }, (_, offset) => {
      if (offset === from) begun.push(index)
      offsets.push(offset)
    })
    return offsets
  })
  const whole = ranges.map(({ from }) => Array.from({ length: 20 }, (_, index) => from + index))
  expect(await Promise.all(reading)).toEqual(whole)
  expect(begun).toEqual([0, 1, 2, 3])
})
