import { expect, test } from 'vitest'
import { openOffsets } from '../../kafka/admin/offsets.ts'
import type { Connection } from '../../kafka/client.ts'

const PREFIX = 'test.'

class Refused extends Error {
  readonly type: string
  constructor(type: string) {
    super(type)
    this.type = type
  }
}

type Question = { topic: string; fromBeginning?: boolean; fromTimestamp?: number }

/** Three partitions per topic, with records 5 to 9, one a second from 105 s on. */
function aCluster() {
  const requests: string[] = []
  const refusals: string[] = []
  const refused = () => {
    const type = refusals.shift()
    if (type) throw new Refused(type)
  }
  const offsetOf = ({ fromBeginning, fromTimestamp }: Question) => {
    if (fromTimestamp === undefined) return fromBeginning ? 5 : 10
    const offset = Math.max(5, Math.ceil(fromTimestamp / 1_000) - 100)
    return offset < 10 ? offset : -1
  }
  const plain = (topics: readonly Question[]) => topics.map(({ topic }) => topic.slice(PREFIX.length)).join()
  const coordinator = {
    nodeId: 1,
    async offsetFetch({ groupId, topics }: { groupId: string; topics: Question[] }) {
      requests.push(`commits of ${groupId.slice(PREFIX.length)} in ${plain(topics)}`)
      refused()
      const partitions = [
        { partition: 0, offset: '7', metadata: 'ahead' },
        { partition: 1, offset: '-1', metadata: null },
      ]
      return { responses: topics.map(({ topic }) => ({ topic, partitions })) }
    },
    async describeGroups({ groupIds }: { groupIds: string[] }) {
      requests.push(`members of ${groupIds.map((id) => id.slice(PREFIX.length)).join()}`)
      return { groups: groupIds.map((groupId) => ({ groupId, members: [] })) }
    },
  }
  const cluster = {
    connect: async () => undefined,
    disconnect: async () => undefined,
    metadata: async () => ({ topicMetadata: ['test.a', 'test.b', 'other.c'].map((topic) => ({ topic })) }),
    addMultipleTargetTopics: async () => undefined,
    refreshMetadataIfNecessary: async () => undefined,
    refreshMetadata: async () => void requests.push('leaders'),
    findTopicPartitionMetadata: () => [0, 1, 2].map((partitionId) => ({ partitionId })),
    findBroker: async () => coordinator,
    async findGroupCoordinator({ groupId }: { groupId: string }) {
      requests.push(`coordinator of ${groupId.slice(PREFIX.length)}`)
      return coordinator
    },
    async fetchTopicsOffset(questions: (Question & { partitions: { partition: number }[] })[]) {
      requests.push(`offsets of ${plain(questions)}`)
      refused()
      return questions.map(({ topic, partitions, ...question }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({
          partition,
          offset: String(offsetOf({ topic, ...question })),
        })),
      }))
    },
  }
  const connection = {
    kafka: { [Symbol('private:Kafka:createCluster')]: () => cluster },
    named: (name: string) => PREFIX + name,
    plain: (name: string) => name.slice(PREFIX.length),
  } as unknown as Connection // no more of it is used
  return { connection, requests, refusals }
}

const three = <T extends object>(fields: T) => [0, 1, 2].map((partition) => ({ partition, ...fields }))

test('topics are those with the prefix', async () => {
  const { connection } = aCluster()
  expect(await (await openOffsets(connection)).topics()).toEqual(['a', 'b'])
})

test('the first and the end offsets of all topics that are asked for at once take one request each', async () => {
  const { connection, requests } = aCluster()
  const offsets = await openOffsets(connection)
  expect(await Promise.all(['a', 'b'].map(offsets.bounds))).toEqual([
    three({ low: 5, end: 10 }),
    three({ low: 5, end: 10 }),
  ])
  expect(requests).toEqual(['offsets of a,b', 'offsets of a,b'])
})

test('offsets at a time are asked for together too; after the last record, the offset is the end', async () => {
  const { connection, requests } = aCluster()
  const offsets = await openOffsets(connection)
  expect(await Promise.all([offsets.at('a', 106_500), offsets.at('b', 120_000)])).toEqual([
    three({ offset: 7 }),
    three({ offset: 10 }),
  ])
  expect(requests).toEqual(['offsets of a,b', 'offsets of a,b'])
})

test('two times of one topic take two requests, because a broker refuses a partition that is named twice', async () => {
  const { connection, requests } = aCluster()
  const offsets = await openOffsets(connection)
  expect(await Promise.all([offsets.at('a', 0), offsets.at('a', 106_500), offsets.at('b', 0)])).toEqual([
    three({ offset: 5 }),
    three({ offset: 7 }),
    three({ offset: 5 }),
  ])
  expect(requests.toSorted()).toEqual(['offsets of a', 'offsets of a', 'offsets of a,b', 'offsets of a,b'])
})

test.each([
  ['does not know a new topic yet', 'UNKNOWN_TOPIC_OR_PARTITION'],
  ['does not lead a partition any more', 'NOT_LEADER_FOR_PARTITION'],
])('a request is sent again with new leaders if a broker %s', async (_, refusal) => {
  const { connection, requests, refusals } = aCluster()
  refusals.push(refusal)
  const offsets = await openOffsets(connection)
  expect(await offsets.bounds('a')).toEqual(three({ low: 5, end: 10 }))
  expect(requests).toContain('leaders')
})

test('other refusals reject every caller, and the next request is sent by itself', async () => {
  const { connection, refusals } = aCluster()
  refusals.push('TOPIC_AUTHORIZATION_FAILED')
  const offsets = await openOffsets(connection)
  const asked = await Promise.allSettled(['a', 'b'].map(offsets.bounds))
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await offsets.bounds('a')).toEqual(three({ low: 5, end: 10 }))
})

test('the coordinator of a group is looked up once, and again after it has moved', async () => {
  const { connection, requests, refusals } = aCluster()
  const offsets = await openOffsets(connection)
  const ask = () => offsets.committed({ group: 'g', topics: ['a'] })
  const expected = [
    { topic: 'a', partition: 0, offset: 7, metadata: 'ahead' },
    { topic: 'a', partition: 1, offset: null, metadata: '' },
  ]
  expect(await ask()).toEqual(expected)
  await ask()
  expect((await offsets.owned(['g', 'h'])).get('g')).toEqual(new Set())
  const [look, read] = ['coordinator of g', 'commits of g in a']
  expect(requests).toEqual([look, read, read, 'coordinator of h', 'members of g,h'])
  refusals.push('NOT_COORDINATOR_FOR_GROUP')
  expect(await ask()).toEqual(expected)
  expect(requests.slice(5)).toEqual([read, look, read])
})
