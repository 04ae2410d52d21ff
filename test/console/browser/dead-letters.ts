import { readConfig } from '../../../config.ts'
import { createProducer } from '../../../kafka/produce/produce.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { openCodec, openRegistry } from '../../../schemas/registry.ts'
import { DEAD } from '../../../schemas/topics.ts'
import { aDeadOne } from '../../control/dead-in-memory.ts'
import type { System } from '../../helpers/system.ts'

export async function writeDeadLetters(
  { env, connection }: System,
  letters: readonly Partial<Delivery>[],
): Promise<void> {
  const registry = openRegistry(readConfig(env, 'control').registry)
  const codec = await openCodec(registry, 'delivery', `${connection.named(DEAD)}-value`)
  const producer = await createProducer(connection)
  const records = letters.map((fields) => {
    const letter = aDeadOne({ deadAt: Date.now(), ...fields })
    return { topic: DEAD, partition: 0, key: `${letter.destinationId}/u1`, value: codec.encode(letter) }
  })
  const outcome = await producer.produce(records)
  await producer.close()
  if (outcome !== 'acked') throw new Error(`dead letters were not written: ${outcome}`)
}
