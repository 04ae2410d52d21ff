import type { Attributes, Post, Processed } from './trace.ts'

/**
 * Names of OpenTelemetry's semantic conventions (HTTP: stable; messaging and Kafka: development), and our own, which begin with
 * `sluice.`. Left out on purpose: `url.query`, `url.full`, `client.address`, `user_agent.original`, `messaging.kafka.message.key`:
 * they hold write keys, secrets of customers, or who a user is.
 */

/** `route` is all of the path that is known to be harmless, and all that there is unless it has a `{...}` in it. */
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

type Place = Pick<Processed, 'topic' | 'group' | 'partition' | 'offset'>

export const processAttributes = ({ topic, group, partition, offset }: Place): Attributes => ({
  'messaging.system': 'kafka',
  'messaging.operation.name': 'process',
  'messaging.operation.type': 'process',
  'messaging.destination.name': topic,
  'messaging.consumer.group.name': group,
  'messaging.destination.partition.id': String(partition),
  'messaging.kafka.offset': offset,
})

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** Of the URL its origin alone: the rest may hold a secret. */
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

type Posted = { outcome: string; status: number | null; code: string | null }

/** What the product calls delivered is no error, a 4xx neither; nor is what was ended from our side. */
export function endPost({ outcome, status, code }: Posted): { attributes: Attributes; error?: string } {
  const attributes: Attributes = {
    'sluice.outcome': outcome,
    ...(status !== null && { 'http.response.status_code': status }),
    ...(code !== null && { 'sluice.code': code }),
  }
  if (outcome === 'delivered' || code === 'aborted') return { attributes }
  return { attributes, error: status !== null && status >= 400 ? String(status) : (code ?? '_OTHER') }
}
