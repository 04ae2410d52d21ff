import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import '../../kafka/client.ts' // applies the patch
import { quiet } from '../helpers/kafkajs.ts'

const require = createRequire(import.meta.url)
const { Produce } = require('kafkajs/src/protocol/requests').requests
const Broker = require('kafkajs/src/broker')
const createManager = require('kafkajs/src/producer/eosManager')

/** From Kafka's protocol guide. */
const NOT_ENOUGH_REPLICAS = 19
const NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20

const answerWith = (errorCode: number) => ({
  topics: [
    {
      topicName: 'work',
      partitions: [
        { partition: 0, errorCode: 0, baseOffset: '7' },
        { partition: 1, errorCode, baseOffset: '-1' },
      ],
    },
  ],
})

const sender = { producerId: '7', producerEpoch: 0, acks: -1, timeout: 1, compression: 0, topicData: [] }
const parsed = (version: string, request: object, answer: object) =>
  Produce.protocol({ version })(request).response.parse(answer)

const versions = (Produce.versions as string[]).filter((version) => Number(version) >= 3)

test.each(versions)(
  'a partition with too few in-sync replicas does not fail a send; other errors do (version %s)',
  async (version) => {
    const short = answerWith(NOT_ENOUGH_REPLICAS)
    expect(await parsed(version, sender, short)).toEqual(short)
    await expect(parsed(version, sender, answerWith(NOT_ENOUGH_REPLICAS_AFTER_APPEND))).rejects.toMatchObject(
      { type: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND' },
    )
  },
)

test.each([
  ['in a transaction', { ...sender, transactionalId: 'writer' }],
  ['without a producer id', { ...sender, producerId: -1 }],
])('it fails a send %s, whose caller does not look at the partitions', async (_, request) => {
  for (const version of versions)
    await expect(parsed(version, request, answerWith(NOT_ENOUGH_REPLICAS))).rejects.toMatchObject({
      type: 'NOT_ENOUGH_REPLICAS',
    })
})

test('the sequence numbers of records that were not written are used again', async () => {
  const send = async ({ response }: { response: { parse(answer: object): Promise<object> } }) =>
    response.parse(answerWith(NOT_ENOUGH_REPLICAS))
  const broker = new Broker({ connectionPool: { host: 'kafka', port: 9092, send }, logger: quiet })
  broker.lookupRequest = () => Produce.protocol({ version: '7' })
  broker.isConnected = () => true
  broker.initProducerId = async () => ({ producerId: '7', producerEpoch: 0 })
  const cluster = {
    findBroker: async (_: object) => broker,
    refreshMetadataIfNecessary: async () => {},
    brokerPool: { brokers: { 1: broker } },
  }
  const manager = createManager({ logger: quiet, cluster, transactional: false })
  await manager.initProducerId()
  const sequences = () => [0, 1].map((partition) => manager.getSequence('work', partition))
  const messages = [{ value: 'a' }, { value: 'b' }]
  const partitions = [0, 1].map((partition) => ({ partition, firstSequence: 0, messages }))
  // as kafkajs does before it sends
  for (const { partition } of partitions) manager.updateSequence('work', partition, messages.length)
  expect(sequences()).toEqual([2, 2])
  const found = await cluster.findBroker({ nodeId: 1 })
  await found.produce({ ...sender, topicData: [{ topic: 'work', partitions }] })
  expect(sequences()).toEqual([2, 0])
})
