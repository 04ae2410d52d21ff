import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from '../process/log.ts'
import { createCarrier } from './carrier.ts'
import { tellFaults } from './faults.ts'
import type { TraceSettings } from './settings.ts'
import { createSpans } from './spans.ts'
import type { Tracer } from './trace.ts'

/** The end of a process waits no longer for its last spans. */
const FLUSH_MS = 2_000

/**
 * The SDK, set up without its globals: no context manager, nothing is patched. Spans wait in a bounded queue and are exported
 * beside the work; what does not fit, or cannot be exported, is dropped and told of in the log.
 */
export function createTracer(
  settings: TraceSettings,
  log: Pick<Logger, 'warn'>,
  exporter: SpanExporter = exporterOf(settings),
): Tracer {
  const { batch, sampler } = settings
  tellFaults(log)
  const provider = new TracerProvider({
    resource: resourceOf(settings),
    sampler: samplerOf(sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: batch.delayMs,
        exportTimeoutMillis: batch.timeoutMs,
        maxQueueSize: batch.queued,
        maxExportBatchSize: batch.together,
      }),
    ],
  })
  const spans = createSpans({
    tracer: provider.getTracer('sluice'),
    carrier: createCarrier(settings.carries),
    byParent: sampler.name.startsWith('parentbased_'),
  })
  return {
    ...spans,
    async close() {
      // what fails is told by the SDK
      const flushed = provider.shutdown().catch(() => undefined)
      await Promise.race([flushed, sleep(FLUSH_MS, undefined, { ref: false })])
    },
  }
}

/** Headers, certificates and compression it reads from the environment by itself. */
function exporterOf({ exporter }: TraceSettings): SpanExporter {
  const { protocol, url, timeoutMs: timeoutMillis } = exporter
  const Exporter = protocol === 'http/json' ? JsonExporter : ProtobufExporter
  return new Exporter({ url, timeoutMillis })
}

function resourceOf({ serviceName, attributes }: TraceSettings) {
  const ours = { 'service.instance.id': randomUUID(), ...attributes, 'service.name': serviceName }
  return defaultResource().merge(resourceFromAttributes(ours))
}

function samplerOf({ name, ratio }: TraceSettings['sampler']): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
  }
}
