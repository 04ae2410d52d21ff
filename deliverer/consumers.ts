import type { Connection } from '../kafka/client.ts'
import { type Consumer, consume } from '../kafka/consume.ts'
import type { Producer } from '../kafka/produce.ts'
import type { Handler } from '../kafka/taken.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { DELIVERIES, DUE } from '../schemas/topics.ts'
import { ofDelivery } from '../trace/describe.ts'
import type { Tracer } from '../trace/trace.ts'
import type { Lane } from './lane/lane.ts'
import { bytes, rungs } from './rungs.ts'

export type Consuming = {
  connection: Connection
  producer: Pick<Producer, 'produce'>
  codec: Pick<Codec<Delivery>, 'decode'>
  handle: (lane: Lane) => Handler<Delivery>
  lanes: { first: Lane; retry: Lane }
  /** As named without prefix: those of the ladder, and those that an older one has left. */
  rungTopics: readonly string[]
  onFatal: (error: Error) => void
  tracer: Tracer | undefined
}

/** Of each partition of a lane: what waits is bounded by the lane, over all its partitions. */
const LANE_HIGH_WATER = 10_000
/** How late a partition notices that it may go on. */
const LANE_WAIT_MS = 25
const RUNG_HIGH_WATER = 400

/** First attempts, retries and rungs have groups of their own, so that none waits for another. */
export function startConsumers(consuming: Consuming): Promise<Consumer[]> {
  const { connection, producer, codec, handle, lanes, rungTopics, onFatal, tracer } = consuming
  const lane = (name: keyof typeof lanes, group: string, topic: string) =>
    consume({
      connection,
      producer,
      onFatal,
      group,
      codec,
      topics: [topic],
      handle: handle(lanes[name]),
      onGivingUp: lanes[name].tidy,
      tracer,
      describe: ofDelivery,
      highWater: LANE_HIGH_WATER,
      maxWaitMs: LANE_WAIT_MS,
    })
  return Promise.all([
    lane('first', 'deliverer', DELIVERIES),
    lane('retry', 'deliverer.due', DUE),
    consume({
      connection,
      producer,
      onFatal,
      group: 'deliverer.rungs',
      codec: bytes,
      topics: rungTopics,
      handle: rungs(producer),
      highWater: RUNG_HIGH_WATER,
      maxWaitMs: 100,
      maxBytesPerPartition: 32 * 1024,
    }),
  ])
}
