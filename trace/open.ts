import type { Logger } from '../process/log.ts'
import type { TraceSettings } from './settings.ts'
import type { Tracer } from './trace.ts'

/** @returns undefined when traces are off. OpenTelemetry's SDK is then not loaded. */
export async function openTracer(
  settings: TraceSettings | undefined,
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<Tracer | undefined> {
  if (!settings) return undefined
  const { createTracer } = await import('./otel.ts')
  // without the query, which may contain a vendor's key
  const { origin, pathname } = new URL(settings.exporter.url)
  log.info({ url: `${origin}${pathname}`, protocol: settings.exporter.protocol }, 'traces are on')
  return createTracer(settings, log)
}
