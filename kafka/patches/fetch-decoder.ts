/**
 * Upstream: tulios/kafkajs#1141, #254 (both closed); src/protocol/requests/fetch/v4/decodeMessages.js and
 * src/protocol/recordBatch/v0/decoder.js.
 * Without it: kafkajs verifies no checksums, knows no LZ4, Snappy or zstd, and does not limit the decompressed size. A
 * batch that it cannot decode stalls its partition for good (docs/decisions/022-batches.md).
 * Until: test/kafka/decode-batches.test.ts passes with the original decoder.
 */
import { batchesDecoder } from '../protocol/decode-batches.ts'
import { replaceInternal } from './internals.ts'

export const originalBatchesDecoder = replaceInternal(
  'protocol/requests/fetch/v4/decodeMessages',
  batchesDecoder,
)
