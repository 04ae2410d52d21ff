import type { Attributes, Post, Processed } from './trace.ts'

/**
 * Names follow OpenTelemetry's semantic conventions; ours begin with `sluice.`. Left out, because they contain secrets
 * or identify users: `url.query`, `url.full`, `client.address`, `user_agent.original`, `messaging.kafka.message.key`.
 */

/** `route` is the whole path unless it has a `{...}`, whose value may be anything. */
export const requestAttributes = ({ method, route }: { method: string; route: string }): Attributes => ({
  'http.request.method': method,
  'http.route': route,
  'url.scheme': 'http',
  ...(!route.includes('{') && { 'url.path': route }),
})

export const sendAttributes = (topic: string, records: number): Attributes => ({
  'messaging.system': 'kafka',
  'messaging.operation.name': 'send',
  'messaging.operation.type': 'send',
  'messaging.destination.name': topic,
  ...(records > 1 && { 'messaging.batch.message_count': records }),
})

type ConsumedRecord = Pick<Processed, 'topic' | 'group' | 'partition' | 'offset'>

export const processAttributes = ({ topic, group, partition, offset }: ConsumedRecord): Attributes => ({
  'messaging.system': 'kafka',
  'messaging.operation.name': 'process',
  'messaging.operation.type': 'process',
  'messaging.destination.name': topic,
  'messaging.consumer.group.name': group,
  'messaging.destination.partition.id': String(partition),
  'messaging.kafka.offset': offset,
})

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

export function postAttributes({ origin, urlIndex, destinationId, attempt }: Post): Attributes {
  const url = URL.parse(origin)
  return {
    'http.request.method': 'POST',
    ...(url && {
      'url.scheme': url.protocol.slice(0, -1),
      'server.address': url.hostname.replace(/^\[|\]$/g, ''),
      'server.port': Number(url.port) || (PORTS[url.protocol] ?? 0),
    }),
    ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
    'sluice.destination.id': destinationId,
    'sluice.url_index': urlIndex,
    'sluice.attempt': attempt,
  }
}

type PostResult = { outcome: string; status: number | null; code: string | null }

/** A POST that we aborted is not an error. */
export function endPost({ outcome, status, code }: PostResult): { attributes: Attributes; error?: string } {
  const attributes: Attributes = {
    'sluice.outcome': outcome,
    ...(status !== null && { 'http.response.status_code': status }),
    ...(code !== null && { 'sluice.code': code }),
  }
  if (outcome === 'delivered' || code === 'aborted') return { attributes }
  return { attributes, error: status !== null && status >= 400 ? String(status) : (code ?? '_OTHER') }
}
