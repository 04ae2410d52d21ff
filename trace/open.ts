import type { Logger } from '../process/log.ts'
import type { TraceSettings } from './settings.ts'
import type { Tracer } from './trace.ts'

/** @returns undefined when traces are off; nothing of OpenTelemetry's SDK is loaded then. */
export async function openTracer(
  settings: TraceSettings | undefined,
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<Tracer | undefined> {
  if (!settings) return undefined
  const { createTracer } = await import('./otel.ts')
  // a vendor's key may be in the URL's query; headers are never shown
  const { origin, pathname } = new URL(settings.exporter.url)
  log.info({ url: `${origin}${pathname}`, protocol: settings.exporter.protocol }, 'traces are on')
  return createTracer(settings, log)
}
