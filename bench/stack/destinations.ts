import { createProducer } from '../../kafka/produce/produce.ts'
import { sealRecord } from '../../settings/seal.ts'
import { CONFIG } from '../../settings/settings.ts'
import { keysOf } from '../../test/helpers/config-keys.ts'
import type { System } from '../../test/ingest/ingest-process.ts'

export type BenchDestination = { id: string; sourceId: string; url: string }

export const SECRET = 'bench-secret'

/** Writes destinations as control does: their secrets sealed. */
export async function putDestinations(
  { connection, env }: System,
  destinations: readonly BenchDestination[],
): Promise<void> {
  const producer = await createProducer(connection)
  const keys = keysOf(Buffer.from(env.CONFIG_KEY ?? '', 'base64'))
  const records = destinations.map((destination) => {
    const owner = `destination/${destination.id}`
    return { topic: CONFIG, key: owner, value: sealRecord(owner, stored(destination), keys) }
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
