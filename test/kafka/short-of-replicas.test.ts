import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import '../../kafka/client.ts' // applies the patch

const { Produce } = createRequire(import.meta.url)('kafkajs/src/protocol/requests').requests

/** Codes of Kafka's protocol guide. */
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
