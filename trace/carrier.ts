import {
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapGetter,
  type TextMapSetter,
} from '@opentelemetry/api'
import { parseTraceParent, W3CTraceContextPropagator } from '@opentelemetry/core'
import type { RecordHeaders, TraceHeaders } from './trace.ts'

export type Carrier = {
  read(headers: RecordHeaders | undefined): Context
  write(context: Context): TraceHeaders
  /** @returns the client's span. Its state and sampling decision are ignored. */
  clientSpan(traceparent: unknown): SpanContext | undefined
}

const getter: TextMapGetter<RecordHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => [headers[name]].flat()[0]?.toString(),
}
const setter: TextMapSetter<Record<string, string>> = {
  set: (headers, name, value) => {
    headers[name] = value
  },
}

const NOTHING: Carrier = { read: () => ROOT_CONTEXT, write: () => ({}), clientSpan: () => undefined }

/** Version 00 has 55 characters. A span's link keeps the whole header in memory until the span is sent. */
const MAX_CHARS = 100

/** @param carries false: each process has its own traces. */
export function createCarrier(carries: boolean): Carrier {
  if (!carries) return NOTHING
  const propagator = new W3CTraceContextPropagator()
  return {
    read: (headers) =>
      headers?.traceparent ? propagator.extract(ROOT_CONTEXT, headers, getter) : ROOT_CONTEXT,
    write(context) {
      const headers: Record<string, string> = {}
      propagator.inject(context, headers, setter)
      return headers
    },
    clientSpan(traceparent) {
      if (typeof traceparent !== 'string' || traceparent.length > MAX_CHARS) return undefined
      const parsed = parseTraceParent(traceparent)
      if (!parsed) return undefined
      return { ...parsed, isRemote: true }
    },
  }
}
