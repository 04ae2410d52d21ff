import { performance } from 'node:perf_hooks'
import type { Storage } from '../kafka/admin/storage.ts'
import { listTopics } from '../kafka/admin/topics.ts'
import { CLOSE_MS, type Connection } from '../kafka/client.ts'
import type { PartitionWatch } from '../kafka/consume/assignment.ts'
import { type ConsumeOptions, type Consumer, consume } from '../kafka/consume/consume.ts'
import type { Handler } from '../kafka/consume/record.ts'
import type { Producer } from '../kafka/produce/produce.ts'
import { within } from '../process/timeout.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { DELIVERIES, DUE, isRung } from '../schemas/topics.ts'
import { ofDelivery, type Tracer } from '../trace/trace.ts'
import { withoutCopies } from './copies.ts'
import type { Lane } from './lane/lane.ts'
import { bytes, rungs } from './rungs.ts'

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
const RUNG_HIGH_WATER = 400
/** The records of a new rung may wait this long for older deliverers. */
const RUNGS_POLL_MS = 10_000

/** First attempts, retries and rungs have a consumer group each, so none waits for another. */
export function startConsumers(consuming: Consuming): Promise<Consumer[]> {
  const { connection, producer, codec, handle, onCopy, lanes, onFatal, tracer } = consuming
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
    consumeRungs(consuming, retries.watch),
  ])
}

/**
 * Reads all rungs that exist, even of older ladders or other deliverers. All members subscribe to the same topics,
 * because a member does not read topics that it does not know.
 */
async function consumeRungs(
  { connection, producer, storage, onFatal }: Consuming,
  watch: PartitionWatch,
): Promise<Consumer> {
  const open = (topics: readonly string[]) =>
    consume({
      connection,
      producer,
      onFatal,
      group: 'deliverer.rungs',
      codec: bytes,
      topics,
      handle: rungs(producer, storage),
      watch,
      highWater: RUNG_HIGH_WATER,
      maxWaitMs: 100,
      maxBytesPerPartition: 32 * 1024,
    })
  const existing = async () => (await listTopics(connection)).filter(isRung).toSorted()
  let topics = await existing()
  let consumer = await open(topics)
  let closing = false

  async function follow(): Promise<void> {
    const found = await existing()
    if (closing || found.join() === topics.join()) return
    await consumer.close()
    topics = []
    if (closing) return
    consumer = await open(found)
    topics = found
    // `close` does not wait for long
    if (closing) return consumer.close(0)
    connection.log.info({ topics }, 'the rungs have changed')
  }

  let following: Promise<void> | undefined
  const failed = (err: unknown) =>
    connection.failures.add({ kind: 'rungs', text: 'the list of rungs cannot be read', err })
  const polling = setInterval(() => {
    following ??= follow()
      .catch(failed)
      .finally(() => {
        following = undefined
      })
  }, RUNGS_POLL_MS)

  return {
    joined: consumer.joined,
    owns: (partition) => consumer.owns(partition),
    loads: () => consumer.loads(),
    async close(drainMs) {
      closing = true
      clearInterval(polling)
      if (following) await within(CLOSE_MS, following)
      await consumer.close(drainMs)
    },
  }
}

const SAMPLE_MS = 100
const BUSY = 0.9

/** @returns a function that says whether the event loop had almost no idle time since it was last asked (100 ms or more). */
export function watchLoad(): () => boolean {
  let last = performance.eventLoopUtilization()
  let lastAt = performance.now()
  let utilization = 0
  return () => {
    const now = performance.now()
    if (now - lastAt >= SAMPLE_MS) {
      const current = performance.eventLoopUtilization()
      utilization = performance.eventLoopUtilization(current, last).utilization
      last = current
      lastAt = now
    }
    return utilization > BUSY
  }
}
