import type { Storage } from '../kafka/admin/storage.ts'
import type { Connection } from '../kafka/client.ts'
import { type ConsumeOptions, type Consumer, consume } from '../kafka/consume/consume.ts'
import type { Handler } from '../kafka/consume/record.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { DELIVERIES, DUE } from '../schemas/topics.ts'
import { ofDelivery, type Tracer } from '../trace/trace.ts'
import { withoutCopies } from './copies.ts'
import type { Lane } from './lane/lane.ts'
import { consumeRungs } from './rungs.ts'

export type Consuming = {
  connection: Connection
  producer: Pick<Producer, 'produce' | 'queuedBytes'>
  storage: Pick<Storage, 'shortage'>
  codec: Pick<Codec<Delivery>, 'decode'>
  handle: (lane: Lane) => Handler<Delivery>
  onCopy: () => void
  lanes: { first: Lane; retry: Lane }
  onFatal: (error: Error) => void
  tracer: Tracer | undefined
}

/** Unsettled records per partition. The lane bounds all partitions together. */
const LANE_HIGH_WATER = 10_000
const LANE_WAIT_MS = 25

/** First attempts, retries and rungs have a consumer group each, so none waits for another. */
export function startConsumers(consuming: Consuming): Promise<Consumer[]> {
  const { connection, producer, storage, codec, handle, onCopy, lanes, onFatal, tracer } = consuming
  const retries = withoutCopies(handle(lanes.retry), onCopy)
  const lane = (
    name: keyof typeof lanes,
    group: string,
    topic: string,
    how: Pick<ConsumeOptions<Delivery>, 'handle' | 'watch'>,
  ) =>
    consume({
      connection,
      producer,
      onFatal,
      group,
      codec,
      topics: [topic],
      ...how,
      onGivingUp: () => lanes[name].dropUnneeded(),
      tracer,
      describe: ofDelivery,
      highWater: LANE_HIGH_WATER,
      maxWaitMs: LANE_WAIT_MS,
    })
  return Promise.all([
    lane('first', 'deliverer', DELIVERIES, { handle: handle(lanes.first) }),
    lane('retry', 'deliverer.due', DUE, retries),
    consumeRungs({ connection, producer, storage, onFatal, watch: retries.watch }),
  ])
}
