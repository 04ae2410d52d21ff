import { onTestFinished } from 'vitest'
import { readConfig } from '../../config.ts'
import { createTracer } from '../../trace/otel.ts'
import type { Tracer } from '../../trace/trace.ts'

export type Ended = {
  name: string
  kind: number
  traceId: string
  spanId: string
  parent: string | undefined
  links: string[]
  attributes: Record<string, unknown>
  isError: boolean
}

/** `spans`: exported once the tracer is closed. */
export function aTracer(env: Record<string, string> = {}) {
  const spans: Ended[] = []
  const warnings: unknown[] = []
  const exporter: Parameters<typeof createTracer>[2] = {
    export(ended, done) {
      for (const span of ended)
        spans.push({
          name: span.name,
          kind: span.kind,
          ...span.spanContext(),
          parent: span.parentSpanContext?.spanId,
          links: span.links.map(({ context }) => `${context.traceId}-${context.spanId}`),
          attributes: span.attributes,
          isError: span.status.code === 2,
        })
      done({ code: 0 })
    },
    shutdown: async () => undefined,
  }
  const tracer = createTracer(
    settings(env),
    { warn: (...said: unknown[]) => void warnings.push(said) },
    exporter,
  )
  onTestFinished(() => tracer.close())
  return { tracer, spans, warnings, ended: () => tracer.close().then(() => spans) }
}

export function settings(env: Record<string, string> = {}) {
  const { traces } = readConfig(
    {
      KAFKA_BROKERS: 'a:9092',
      SCHEMA_REGISTRY_URL: 'http://registry:8081',
      CONFIG_KEY: Buffer.alloc(32, 'key 1 of the tests').toString('base64'),
      OTEL_TRACES_EXPORTER: 'otlp',
      ...env,
    },
    'ingest',
  )
  if (!traces) throw new Error('traces are off')
  return traces
}

export const SAMPLED = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
export const UNSAMPLED = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`

/** As the Kafka client hands it over. */
export const aRecord = (traceparent?: string): Parameters<Tracer['process']>[0] => ({
  topic: 'p.events',
  group: 'p.router',
  partition: 3,
  offset: 42,
  headers: traceparent === undefined ? {} : { traceparent: Buffer.from(traceparent) },
})
