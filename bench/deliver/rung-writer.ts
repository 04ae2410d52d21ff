import { setTimeout as sleep } from 'node:timers/promises'
import type { PreparedSystem } from '../../harness/prepare.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DELIVERIES, type Rung, rungTopic } from '../../schemas/topics.ts'
import { renderer } from '../load/backlog.ts'

export type RungWriter = Awaited<ReturnType<typeof openRungWriter>>

const TICK_MS = 20
const AT_ONCE = 5_000

/** Rungs keep the key, so it carries the mark and the due time. */
const keyOf = (mark: string, number: number, dueAt: number) => `bench/${mark}/${number}/${dueAt}`
export function readKey(key: string): { mark: string; dueAt: number } {
  const [, mark = '', , dueAt] = key.split('/')
  return { mark, dueAt: Number(dueAt) }
}

/** Writes deliveries that have failed once into rungs. */
export async function openRungWriter({ connection, config }: PreparedSystem) {
  const producer = await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY })
  const subject = `${connection.named(DELIVERIES)}-value`
  const render = renderer(await openCodec(openRegistry(config.registry), 'delivery', subject))
  let number = 0

  function write({ name, delayMs }: Rung, mark: string, count: number): Promise<unknown> {
    const dueAt = Date.now() + delayMs
    const records = Array.from({ length: count }, () => {
      const key = keyOf(mark, number, dueAt)
      const { value } = render('bench', number++)
      return { topic: rungTopic(name), key, value, headers: { dueAt: String(dueAt) } }
    })
    return producer.produce(records)
  }

  return {
    /** Writes records as fast as Kafka takes them. */
    async fill(rung: Rung, { records, mark }: { records: number; mark: string }): Promise<void> {
      for (let written = 0; written < records; written += AT_ONCE)
        await write(rung, mark, Math.min(AT_ONCE, records - written))
    },

    /** Writes at a fixed rate. @returns the number of records */
    pace: (rung: Rung, { mark, ...paced }: Paced & { mark: string }) =>
      atRate(paced, (count) => write(rung, mark, count)),

    close: () => producer.close(),
  }
}

type Paced = { perSecond: number; forMs: number }

async function atRate(
  { perSecond, forMs }: Paced,
  write: (count: number) => Promise<unknown>,
): Promise<number> {
  const start = performance.now()
  const writes: Promise<unknown>[] = []
  let written = 0
  for (let passed = 0; passed < forMs; passed = performance.now() - start) {
    const count = Math.floor((passed / 1_000) * perSecond) - written
    if (count > 0) writes.push(write(count))
    written += count
    await sleep(TICK_MS)
  }
  await Promise.all(writes)
  return written
}
