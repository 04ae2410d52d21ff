import type { Logger } from '../log.ts'
import type { TraceSettings } from './settings.ts'
import type { Tracer } from './trace.ts'

/** @returns undefined when traces are off; nothing of OpenTelemetry's SDK is loaded then. */
export async function openTracer(
  settings: TraceSettings | undefined,
  log: Pick<Logger, 'warn'>,
): Promise<Tracer | undefined> {
  if (!settings) return undefined
  const { createTracer } = await import('./otel.ts')
  return createTracer(settings, log)
}
