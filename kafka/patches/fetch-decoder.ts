/**
 * Upstream: src/protocol/requests/fetch/v4/decodeMessages.js and src/protocol/recordBatch/v0/decoder.js;
 * tulios/kafkajs#1141 (closed: install a codec for LZ4), #254 (closed: a missing codec crashes the consumer).
 * Without it: kafkajs does not verify the checksum of a batch, knows no LZ4, Snappy or zstd, and does not limit the
 * decompressed size. A batch that it cannot decode ends the fetch, and the next fetch starts at the same batch: the
 * partition stalls for good.
 * Until: test/kafka/decode-batches.test.ts passes with the original decoder. See docs/decisions/022-batches.md.
 */
import { batchesDecoder } from '../protocol/decode-batches.ts'
import { replaceInternal } from './internals.ts'

export const originalBatchesDecoder = replaceInternal(
  'protocol/requests/fetch/v4/decodeMessages',
  batchesDecoder,
)
