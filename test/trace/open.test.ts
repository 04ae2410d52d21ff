import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { openTracer } from '../../trace/open.ts'

test('at the start the log names the collector, without a possible key', async () => {
  const { traces } = readConfig(
    {
      KAFKA_BROKERS: 'a:9092',
      SCHEMA_REGISTRY_URL: 'http://registry:8081',
      CONFIG_KEY: Buffer.alloc(32, 'key 1 of the tests').toString('base64'),
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://me:hush@127.0.0.1:9/v1/traces?key=hush',
    },
    'ingest',
  )
  const told: unknown[] = []
  const log = { info: (...said: unknown[]) => void told.push(said), warn: () => undefined }
  const tracer = await openTracer(traces, log)
  onTestFinished(() => tracer?.close())
  expect(told).toEqual([
    [{ url: 'http://127.0.0.1:9/v1/traces', protocol: 'http/protobuf' }, 'traces are on'],
  ])
})
