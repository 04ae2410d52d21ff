import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMeter } from '../../ingest/metrics.ts'
import { createPipeline } from '../../ingest/pipeline.ts'
import { collectGarbage } from '../helpers/garbage.ts'
import { codecs } from './fake.ts'

/** Kafka does not answer. */
const stalled = () =>
  createPipeline({
    sourceByWriteKey: () => ({ id: 'shop', enabled: true }),
    suppressedUsers: () => undefined,
    now: Date.now,
    clock: () => 0,
    newId: () => 'made',
    unavailable: () => undefined,
    produce: () => new Promise(() => {}),
    logRejected: async () => {},
    encoders: { event: codecs.event.encode, rejected: codecs.rejected.encode },
    meter: createMeter(new Registry()),
    log: { error: () => {} },
  })

test.each([
  ['short', 1],
  ['listed in the answer', { a: 'x'.repeat(125) }],
])('a batch that waits for Kafka keeps little about its rejected calls: %s', (_, bad) => {
  const { ingest } = stalled()
  const batch = [{ type: 'track', userId: 'u', event: 'e' }, ...Array(2_499).fill(bad)]
  const body = Buffer.from(JSON.stringify({ batch }))
  const send = () => void ingest({ type: 'batch', writeKey: 'key', body }, '127.0.0.1')
  send() // makes what all batches share
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let count = 0; count < 100; count++) send()
  collectGarbage()
  expect((process.memoryUsage().heapUsed - before) / 100).toBeLessThan(30_000)
})
