import { deliveryId, deliveryKey, UNATTEMPTED } from '../../delivery/routing/routing.ts'
import type { PreparedSystem } from '../../harness/prepare.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DELIVERIES } from '../../schemas/topics.ts'
import { deliveryBodies } from './calls.ts'

const AT_ONCE = 5_000

/** For the destinations in turn. Default: untried ones, into `deliveries`. */
export async function fillBacklog(
  { connection, config }: PreparedSystem,
  {
    destinationIds,
    deliveries,
    topic = DELIVERIES,
    tried = {},
  }: {
    destinationIds: readonly string[]
    deliveries: number
    topic?: string
    tried?: Partial<Delivery>
  },
): Promise<void> {
  const producer = await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY })
  const subject = `${connection.named(DELIVERIES)}-value`
  const codec = await openCodec(openRegistry(config.registry), 'delivery', subject)
  const render = renderer(codec, tried)
  for (let from = 0; from < deliveries; from += AT_ONCE) {
    const records = Array.from({ length: Math.min(AT_ONCE, deliveries - from) }, (_, index) => {
      const number = from + index
      const destinationId = destinationIds[number % destinationIds.length] ?? ''
      return { topic, ...render(destinationId, number) }
    })
    await producer.produce(records)
  }
  await producer.close()
}

/** Makes the key and value of a 1 KB delivery. `tried`: fields of an earlier attempt. */
export function renderer(codec: Pick<Codec<Delivery>, 'encode'>, tried: Partial<Delivery> = {}) {
  const bodies = deliveryBodies()
  return (destinationId: string, number: number) => {
    const messageId = `m${number}`
    const sourceId = 'bench'
    const userId = `user-${number % bodies.length}`
    const value = codec.encode({
      deliveryId: deliveryId(destinationId, { sourceId, messageId }),
      messageId,
      sourceId,
      destinationId,
      type: 'track',
      body: bodies[number % bodies.length] ?? '',
      routedAt: Date.now(),
      ...UNATTEMPTED,
      ...tried,
    })
    return { key: deliveryKey(destinationId, { userId, anonymousId: null }), value }
  }
}
