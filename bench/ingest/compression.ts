import { randomUUID } from 'node:crypto'
import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { markdownTable } from '../../harness/results.ts'
import { encodeProduce } from '../../kafka/protocol/encode-produce.ts'
import { median, spread } from '../figures/summary.ts'
import { calls } from '../load/calls.ts'

type Codec = { name: string; compress(bytes: Buffer): Buffer; decompress(bytes: Buffer): Buffer }

const { ZSTD_c_compressionLevel: LEVEL } = constants

/** The fastest levels. Node has neither LZ4 nor Snappy. */
const CODECS: readonly Codec[] = [
  {
    name: 'gzip, level 1',
    compress: (bytes) => gzipSync(bytes, { level: 1 }),
    decompress: (bytes) => gunzipSync(bytes),
  },
  {
    name: 'zstd, level 1',
    compress: (bytes) => zstdCompressSync(bytes, { params: { [LEVEL]: 1 } }),
    decompress: (bytes) => zstdDecompressSync(bytes),
  },
]

/** Records of one partition in one request. */
const SIZES = [1, 3, 10, 30, 100]
const ROUND_MS = 300
const ROUNDS = 5

/** See docs/decisions/027-producer-compression.md. */
export async function bench({ rounds = ROUNDS } = {}): Promise<string> {
  const all = values()
  const rows = SIZES.flatMap((size) => {
    const batches = Array.from({ length: 20 }, (_, index) =>
      encoded(all.slice(index * size, (index + 1) * size)),
    )
    const measure = (work: (index: number) => Buffer) => microseconds({ rounds, size, work })
    const plain = measure((index) => encoded(all.slice((index % 20) * size, ((index % 20) + 1) * size)))
    const none = [`${size}`, 'none', bytesPerEvent(batches, size), '', spread(plain), '', '']
    const others = CODECS.map(({ name, compress, decompress }) => {
      const small = batches.map(compress)
      const packing = measure((index) => compress(nth(batches, index)))
      const unpacking = measure((index) => decompress(nth(small, index)))
      const left = percent(bytesOf(small) / bytesOf(batches))
      const share = percent(median(packing) / INGEST_US)
      return [`${size}`, name, bytesPerEvent(small, size), left, spread(packing), share, spread(unpacking)]
    })
    return [none, ...others]
  })
  return `${INTRODUCTION}\n\n${markdownTable(HEAD, rows)}`
}

/** CPU of a single call, from section `ingest` of bench/RESULTS.md. */
const INGEST_US = 45

const INTRODUCTION = `CPU time per event, in us, to compress and decompress batches of \`events\`: 1 KB track calls of one
shop, with random ids and amounts. "None" is encoding without compression, which the codecs' figures do not include. The
share is of the ${INGEST_US} us that ingest takes for a call on one of 200 connections (section \`ingest\`). Median of the rounds,
with the lowest and the highest.`

const HEAD = [
  'records in a batch',
  'codec',
  'bytes per event',
  'of uncompressed',
  'us per event to encode or compress',
  'share of ingest',
  'us per event for each reader',
]

/** Bodies differ as real ones do: equal ones would compress too well. */
function values(): string[] {
  return [...calls(), ...calls()].map((call) => {
    const [product] = call.properties.products
    const products = [
      { ...product, product_id: randomUUID(), price: Math.round(Math.random() * 10_000) / 100 },
    ]
    const properties = { ...call.properties, order_id: randomUUID(), total: Math.random() * 1_000, products }
    return JSON.stringify({ ...call, messageId: randomUUID(), anonymousId: randomUUID(), properties })
  })
}

const encoded = (records: readonly string[]): Buffer =>
  encodeProduce(
    {
      acks: -1,
      timeout: 10_000,
      compression: 0,
      producerId: 1n,
      producerEpoch: 0,
      topicData: [
        {
          topic: 'events',
          partitions: [
            {
              partition: 0,
              firstSequence: 0,
              messages: records.map((value) => ({ key: 'shop/user', value })),
            },
          ],
        },
      ],
    },
    Date.now(),
  )

type Work = { rounds: number; size: number; work: (index: number) => Buffer }

/** CPU per event, by round. */
function microseconds({ rounds, size, work }: Work): number[] {
  const figures: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const [start, before] = [performance.now(), process.cpuUsage()]
    let times = 0
    while (performance.now() - start < ROUND_MS) work(times++)
    const { user, system } = process.cpuUsage(before)
    // the first round warms up
    if (round > 0) figures.push((user + system) / times / size)
  }
  return figures
}

const nth = (all: readonly Buffer[], index: number): Buffer => all[index % all.length] ?? Buffer.alloc(0)
const bytesOf = (all: readonly Buffer[]): number => all.reduce((bytes, { length }) => bytes + length, 0)
const bytesPerEvent = (all: readonly Buffer[], size: number) =>
  `${Math.round(bytesOf(all) / all.length / size)}`
const percent = (share: number) => `${(share * 100).toFixed(0)} %`
