import { randomBytes } from 'node:crypto'
import { createProducer, type Producer } from '../kafka/produce.ts'
import { deliveryId, deliveryKey, UNTRIED } from '../router/route.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { openCodec, openRegistry } from '../schemas/registry.ts'
import { mapSecrets, seal } from '../schemas/seal.ts'
import { CONFIG, DELIVERIES } from '../schemas/topics.ts'
import type { System } from '../test/ingest/ingest-process.ts'
import { deliveryBodies } from './calls.ts'

const BACKLOG = 300_000
const AT_ONCE = 5_000

export type Receiving = { url: string; secret: string }

/** Writes a destination, and deliveries for it that the deliverer works off when it starts. */
export async function fillBacklog({ connection, config }: System, to: Receiving): Promise<void> {
  const producer = await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY })
  const subject = `${connection.named(DELIVERIES)}-value`
  const codec = await openCodec(openRegistry(config.registry), 'delivery', subject)
  await putDestination(producer, config.configKeys, to)
  const bodies = deliveryBodies()
  for (let from = 0; from < BACKLOG; from += AT_ONCE)
    await producer.produce(
      Array.from({ length: AT_ONCE }, (_, index) => delivery(from + index, { bodies, codec })),
    )
  await producer.close()
}

async function putDestination(
  producer: Pick<Producer, 'produce'>,
  keys: System['config']['configKeys'],
  { url, secret }: Receiving,
): Promise<void> {
  const destination = {
    id: 'bench',
    type: 'Webhooks',
    name: 'bench',
    enabled: true,
    sourceIds: ['bench'],
    webhooks: [{ url, headers: {} }],
    sharedSecret: secret,
    version: 1,
    updatedAt: '2026-01-01T00:00:00.000Z',
  }
  const owner = 'destination/bench'
  const sealed = mapSecrets(destination, (text) => seal(text, { keys, nonce: randomBytes(12), owner }))
  await producer.produce([{ topic: CONFIG, key: owner, value: JSON.stringify(sealed) }])
}

type Made = { bodies: readonly string[]; codec: Pick<Codec<Delivery>, 'encode'> }

function delivery(index: number, { bodies, codec }: Made) {
  const messageId = `m${index}`
  const userId = `user-${index % bodies.length}`
  const value = codec.encode({
    deliveryId: deliveryId('bench', { sourceId: 'bench', messageId }),
    messageId,
    sourceId: 'bench',
    destinationId: 'bench',
    type: 'track',
    body: bodies[index % bodies.length] ?? '',
    routedAt: Date.now(),
    ...UNTRIED,
  })
  return { topic: DELIVERIES, key: deliveryKey('bench', { userId, anonymousId: null }), value }
}
