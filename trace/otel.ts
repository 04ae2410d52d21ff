import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DiagLogFunction, DiagLogLevel, diag } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
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
import { createLogLimit, type Logger } from '../process/log.ts'
import { asError } from '../process/thrown.ts'
import { createCarrier } from './carrier.ts'
import type { TraceSettings } from './settings.ts'
import { createSpans } from './spans.ts'
import type { Tracer } from './trace.ts'

const FLUSH_MS = 2_000

/**
 * Without context manager and patches. Spans that do not fit in the queue or cannot be exported are dropped and logged.
 */
export function createTracer(
  settings: TraceSettings,
  log: Pick<Logger, 'warn'>,
  exporter: SpanExporter = exporterOf(settings),
): Tracer {
  const { batch, sampler } = settings
  logFaults(log)
  const provider = new TracerProvider({
    resource: resourceOf(settings),
    sampler: samplerOf(sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        scheduledDelayMillis: batch.delayMs,
        exportTimeoutMillis: batch.timeoutMs,
        maxQueueSize: batch.maxQueued,
        maxExportBatchSize: batch.maxBatch,
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
      // the SDK reports failures
      const flushed = provider.shutdown().catch(() => undefined)
      await Promise.race([flushed, sleep(FLUSH_MS, undefined, { ref: false })])
    },
  }
}

const REPEAT_MS = 10_000

/** Logs what the SDK reports, each kind at most once in ten seconds. */
function logFaults(log: Pick<Logger, 'warn'>): void {
  const mayLog = createLogLimit(REPEAT_MS)
  setGlobalErrorHandler((error) => {
    if (mayLog('export'))
      log.warn({ err: asError(error) }, 'spans cannot be exported: they are lost, nothing else is')
  })
  // errors and response bodies are not strings
  const warn: DiagLogFunction = (...parts: unknown[]) => {
    const text = parts.filter((part) => typeof part === 'string').join(': ')
    if (mayLog(text.replaceAll(/\d+/g, ''))) log.warn(`OpenTelemetry: ${text}`)
  }
  const ignore: DiagLogFunction = () => undefined
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}

/** The exporter itself reads headers, certificates and compression from the environment. */
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
