import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import '../../kafka/client.ts' // before what it changes
import { quiet } from '../helpers/kafkajs.ts'

const require = createRequire(import.meta.url)
const createManager = require('kafkajs/src/producer/eosManager')
const { createErrorFromCode } = require('kafkajs/src/protocol/error')
const LOAD_IN_PROGRESS = 14

const withoutIds = () => Promise.reject(createErrorFromCode(LOAD_IN_PROGRESS))
const withIds = async () => ({ producerId: 4_000, producerEpoch: 0 })

/** By itself, kafkajs asks broker 1. `asked` lists the brokers in the order in which they were asked. */
function clusterOf(answers: Record<string, { connected: boolean; initProducerId(): Promise<object> }>) {
  const asked: string[] = []
  const brokers = Object.fromEntries(
    Object.entries(answers).map(([nodeId, { connected, initProducerId }]) => [
      nodeId,
      {
        isConnected: () => connected,
        initProducerId() {
          asked.push(nodeId)
          return initProducerId()
        },
      },
    ]),
  )
  const findBroker = async ({ nodeId = '1' }) => brokers[nodeId]
  const cluster = {
    ...{ retry: { retries: 0 }, brokerPool: { brokers }, refreshMetadataIfNecessary: async () => {} },
    ...{ findBroker, findControllerBroker: () => findBroker({}) },
  }
  return { cluster, asked }
}

const managerOf = (cluster: object) =>
  createManager({ logger: quiet, cluster, transactional: false, transactionTimeout: 60_000 })

test('a producer that gets no id from one broker asks the others, connected ones first', async () => {
  const { cluster, asked } = clusterOf({
    1: { connected: true, initProducerId: withoutIds },
    2: { connected: false, initProducerId: withIds },
    3: { connected: true, initProducerId: withoutIds },
  })
  const manager = managerOf(cluster)
  await manager.initProducerId()
  expect(manager.getProducerId()).toBe(4_000)
  expect(asked).toEqual(['1', '3', '2'])
})

test('if no broker has ids, it fails with the error of the first one asked', async () => {
  const { cluster, asked } = clusterOf({
    1: { connected: false, initProducerId: () => Promise.reject(new Error('the connection is closed')) },
    2: { connected: true, initProducerId: withoutIds },
  })
  await expect(managerOf(cluster).initProducerId()).rejects.toThrow('The coordinator is loading')
  expect(asked).toEqual(['2', '1'])
})

test('if Kafka names no broker, it fails', async () => {
  await expect(managerOf(clusterOf({}).cluster).initProducerId()).rejects.toThrow('Kafka names no broker')
})
