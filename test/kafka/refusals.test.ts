import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import '../../kafka/client.ts' // applies the patch

const require = createRequire(import.meta.url)
const BrokerPool = require('kafkajs/src/cluster/brokerPool')
const { createErrorFromCode } = require('kafkajs/src/protocol/error')
const GROUP_AUTHORIZATION_FAILED = 30
const NOT_AVAILABLE = 15

/** What two brokers answer. */
const asking = (ask: () => Promise<unknown>): Promise<unknown> => {
  const pool = {
    brokers: { 1: {}, 2: {} },
    findBroker: async ({ nodeId }: { nodeId: string }) => ({ nodeId }),
  }
  return BrokerPool.prototype.withBroker.call(pool, ask)
}
const failing = (code: number) => async () => {
  throw createErrorFromCode(code)
}

test('if all brokers refuse the user, the error says so', async () => {
  await expect(asking(failing(GROUP_AUTHORIZATION_FAILED))).rejects.toMatchObject({
    type: 'GROUP_AUTHORIZATION_FAILED',
  })
})

test('if one broker answers, its answer counts; without a refusal, there is none', async () => {
  expect(await asking(failing(NOT_AVAILABLE))).toBeNull()
  let times = 0
  const second = async () => {
    times += 1
    if (times === 1) throw createErrorFromCode(GROUP_AUTHORIZATION_FAILED)
    return 'answered'
  }
  expect(await asking(second)).toBe('answered')
})
