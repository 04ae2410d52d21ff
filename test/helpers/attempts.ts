import { readConfig } from '../../config.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { ATTEMPTS } from '../../schemas/topics.ts'
import { readAll } from './cluster.ts'
import type { System } from './system.ts'

/** What is in the attempt log now, of all destinations or one. */
export async function readAttempts(
  { connection, env }: Pick<System, 'connection' | 'env'>,
  destination?: string,
): Promise<Attempt[]> {
  const registry = openRegistry(readConfig(env, 'deliverer').registry)
  const codec = await openCodec(registry, 'attempt', `${connection.named(ATTEMPTS)}-value`)
  const attempts: Attempt[] = []
  for (const { key, value } of await readAll(connection, ATTEMPTS)) {
    if (destination !== undefined && key !== destination) continue
    const decoded = await codec.decode(value)
    if (!decoded.ok) throw new Error('an attempt cannot be decoded')
    attempts.push(decoded.value)
  }
  return attempts
}
