import {
  type Tracer as ApiTracer,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import type { Carrier } from './carrier.ts'
import {
  endPost,
  postAttributes,
  processAttributes,
  requestAttributes,
  sendAttributes,
} from './conventions.ts'
import type { Processed, RequestTrace, Sending, Trace, TraceHeaders, Tracer } from './trace.ts'

export type SpanParts = {
  tracer: ApiTracer
  carrier: Carrier
  /** A record whose parent is not sampled is not sampled either. */
  byParent: boolean
}

const nothing = () => undefined

/** An unsampled span costs only its ids, or nothing if its parent was not sampled. */
export function createSpans(parts: SpanParts): Omit<Tracer, 'close'> {
  const { tracer, carrier, byParent } = parts
  const isOut = (parent: Context) => {
    const flags = trace.getSpanContext(parent)?.traceFlags
    return byParent && flags !== undefined && (flags & TraceFlags.SAMPLED) === 0
  }

  function started(span: Span, { describe, ...record }: Processed): Trace {
    const context = trace.setSpan(ROOT_CONTEXT, span)
    if (!span.isRecording()) return passing(carrier.write(context))
    span.setAttributes(processAttributes(record))
    if (describe) span.setAttributes(describe())
    return recording(span, context, parts)
  }

  return {
    request({ method, route, traceparent }) {
      const span = tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER }, ROOT_CONTEXT)
      const context = trace.setSpan(ROOT_CONTEXT, span)
      if (!span.isRecording()) return passingRequest(carrier.write(context))
      span.setAttributes(requestAttributes({ method, route }))
      const client = carrier.clientSpan(traceparent)
      if (client) span.addLink({ context: client })
      return recordingRequest(span, recording(span, context, parts))
    },
    process(record) {
      const parent = carrier.read(record.headers)
      if (isOut(parent)) return passing(carrier.write(parent))
      return started(tracer.startSpan(`process ${record.topic}`, { kind: SpanKind.CONSUMER }, parent), record)
    },
    processLinked(record) {
      const before = trace.getSpanContext(carrier.read(record.headers))
      const links = before ? [{ context: before }] : []
      const options = { kind: SpanKind.CONSUMER, links }
      return started(tracer.startSpan(`process ${record.topic}`, options, ROOT_CONTEXT), record)
    },
  }
}

/** An unrecorded trace. Its headers still say that it is not sampled. */
function passing(headers: TraceHeaders): Trace {
  const sending: Sending = { headers, end: nothing }
  return { headers, send: () => sending, post: () => nothing, note: nothing, end: nothing }
}

const passingRequest = (headers: TraceHeaders): RequestTrace => ({
  ...passing(headers),
  answered: nothing,
  gone: nothing,
  [Symbol.dispose]: nothing,
})

function recording(span: Span, context: Context, { tracer, carrier }: SpanParts): Trace {
  return {
    get headers() {
      return carrier.write(context)
    },
    send(topic, records) {
      const kind = SpanKind.PRODUCER
      const sent = tracer.startSpan(`send ${topic}`, { kind }, context)
      sent.setAttributes(sendAttributes(topic, records))
      return {
        headers: carrier.write(trace.setSpan(ROOT_CONTEXT, sent)),
        end: (outcome) => end(sent, outcome === 'acked' ? undefined : outcome),
      }
    },
    post(post) {
      const client = tracer.startSpan('POST', { kind: SpanKind.CLIENT }, context)
      client.setAttributes(postAttributes(post))
      return (result) => {
        const { attributes, error } = endPost(result)
        client.setAttributes(attributes)
        end(client, error)
      }
    },
    note: (attributes) => void span.setAttributes(attributes),
    end: (error) => end(span, error),
  }
}

function recordingRequest(span: Span, trace: Trace): RequestTrace {
  const { send, note } = trace
  return {
    get headers() {
      return trace.headers
    },
    send,
    note,
    answered({ code, status }) {
      span.setAttributes({ 'http.response.status_code': status, 'sluice.code': code })
      end(span, status >= 500 ? String(status) : undefined)
    },
    gone: () => end(span, 'client_gone'),
    [Symbol.dispose]: () => end(span, 'internal_error'),
  }
}

function end(span: Span, error: string | undefined): void {
  if (!span.isRecording()) return
  if (error !== undefined) {
    span.setAttribute('error.type', error)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}
