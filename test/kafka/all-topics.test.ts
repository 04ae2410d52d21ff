import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import '../../kafka/client.ts' // applies the patch

const { Metadata } = createRequire(import.meta.url)('kafkajs/src/protocol/requests').requests

/** Codes of Kafka's protocol guide. */
const LEADER_NOT_AVAILABLE = 5
const LISTENER_NOT_FOUND = 72

const metadataWith = (partitionErrorCode: number, topicErrorCode = 0) => ({
  brokers: [{ nodeId: 1, host: 'kafka', port: 9092 }],
  topicMetadata: [
    { topicErrorCode: 0, topic: 'events', partitionMetadata: [{ partitionErrorCode: 0, leader: 1 }] },
    { topicErrorCode, topic: 'foreign', partitionMetadata: [{ partitionErrorCode, leader: -1 }] },
  ],
})

const parsed = (version: string, topics: string[], metadata: object) =>
  Metadata.protocol({ version })({ topics }).response.parse(metadata)

test.each<string>(Metadata.versions)(
  'a fault of one topic does not fail a request for all topics (version %s)',
  async (version) => {
    for (const metadata of [
      metadataWith(LEADER_NOT_AVAILABLE),
      metadataWith(LISTENER_NOT_FOUND),
      metadataWith(0, LEADER_NOT_AVAILABLE),
    ])
      expect(await parsed(version, [], metadata)).toEqual(metadata)
  },
)

test.each<string>(Metadata.versions)(
  'a partition without a leader fails a request that names its topic (version %s)',
  async (version) => {
    const asked = parsed(version, ['events', 'foreign'], metadataWith(LEADER_NOT_AVAILABLE))
    await expect(asked).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' })
  },
)
