import { randomBytes } from 'node:crypto'
import { createProducer } from '../../kafka/produce.ts'
import { mapSecrets, seal } from '../../schemas/seal.ts'
import { CONFIG } from '../../schemas/topics.ts'
import type { System } from '../../test/ingest/ingest-process.ts'

export type BenchDestination = { id: string; sourceId: string; url: string }

export const SECRET = 'bench-secret'

/** Writes destinations as control does: their secrets sealed. */
export async function putDestinations(
  { connection, config }: System,
  destinations: readonly BenchDestination[],
): Promise<void> {
  const producer = await createProducer(connection)
  const records = destinations.map((destination) => {
    const owner = `destination/${destination.id}`
    const sealed = mapSecrets(stored(destination), (text) =>
      seal(text, { keys: config.configKeys, nonce: randomBytes(12), owner }),
    )
    return { topic: CONFIG, key: owner, value: JSON.stringify(sealed) }
  })
  const produced = await producer.produce(records)
  await producer.close()
  if (produced !== 'acked') throw new Error(`destinations not written: ${produced}`)
}

const stored = ({ id, sourceId, url }: BenchDestination) => ({
  id,
  type: 'Webhooks',
  name: id,
  enabled: true,
  sourceIds: [sourceId],
  webhooks: [{ url, headers: {} }],
  sharedSecret: SECRET,
  version: 1,
  updatedAt: '2026-01-01T00:00:00.000Z',
})
