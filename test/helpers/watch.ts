import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import type { System } from './system.ts'

export type Watched = {
  /** Each status of `/readyz`, without repetitions. */
  readiness: readonly number[]
  isReady(): boolean
  /** Resident memory in bytes, four times a second. */
  rss: readonly number[]
  queueBytes(): number
  close(): Promise<void>
}

/** Looks at ingest as an operator's probes do. */
export function watch({ ingest, env }: Pick<System, 'ingest' | 'env'>): Watched {
  const readiness: number[] = []
  const rss: number[] = []
  let queueBytes = 0
  let closed = false

  async function look(): Promise<void> {
    const ready = await request(`${ingest}/readyz`)
    await ready.body.dump()
    if (ready.statusCode !== readiness.at(-1)) readiness.push(ready.statusCode)
    const metrics = await (await request(`http://127.0.0.1:${env.INGEST_METRICS_PORT}/metrics`)).body.text()
    rss.push(metric(metrics, 'process_resident_memory_bytes'))
    queueBytes = metric(metrics, 'sluice_kafka_queue_bytes')
  }

  async function run(): Promise<void> {
    while (!closed) {
      await look()
      await sleep(250)
    }
  }

  const running = run()
  return {
    readiness,
    isReady: () => readiness.at(-1) === 200,
    rss,
    queueBytes: () => queueBytes,
    async close() {
      closed = true
      await running
    },
  }
}

function metric(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])
}
