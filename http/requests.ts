import { IncomingMessage } from 'node:http'
import { isIndex } from '../process/json-objects.ts'

/**
 * Whether a proxy may have read the request differently: no Host or two (RFC 9112, 3.2), two Authorization headers, of
 * which Node keeps the first, or a Transfer-Encoding other than `chunked` (6.1) or in HTTP/1.0.
 */
export function isAmbiguous({ rawHeaders, headers, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  let authorizations = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name?.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1
  }
  if (hosts > 1 || authorizations > 1) return true
  const coding = headers['transfer-encoding']
  if (httpVersion !== '1.1') return coding !== undefined
  return hosts === 0 || (coding !== undefined && coding.toLowerCase() !== 'chunked')
}

export const hasBody = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * The path and query of a URL that names a host, as clients send to proxies. If Fastify cannot parse such a URL
 * (`http://`), it runs no hooks, and so no limits.
 */
export function withoutHost(url: string): string {
  const [origin] = /^https?:\/\/[^/?#]*/i.exec(url) ?? []
  if (origin === undefined) return url
  const rest = url.slice(origin.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

const HEADER_NAME_CHARS = 1_024

/**
 * Renames headers before Node makes properties of them, if V8 handles their names badly: more than HEADER_NAME_CHARS
 * (see process/parse-json.ts), or only digits (see process/json-objects.ts).
 */
export class RequestWithPlainNames extends IncomingMessage {
  areNamesPlain = false
}

const headers = Object.getOwnPropertyDescriptor(IncomingMessage.prototype, 'headers')
// the types declare a plain property, which a class cannot override with a getter
Object.defineProperty(RequestWithPlainNames.prototype, 'headers', {
  ...headers,
  get(this: RequestWithPlainNames) {
    if (!this.areNamesPlain) renameOthers(this.rawHeaders)
    this.areNamesPlain = true
    return headers?.get?.call(this)
  },
})

function renameOthers(rawHeaders: string[]): void {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length > HEADER_NAME_CHARS || isIndex(name)) rawHeaders[at] = 'x-ignored'
  }
}

/** More than any chain of proxies has. */
const FORWARDED = 32
/** Longer than any address with a zone and a port. */
const ADDRESS_CHARS = 100

/**
 * Some proxies append `address:port` or `[address]:port` to X-Forwarded-For: each connection would count as another
 * client. Keeps the last 32 addresses, because reading very many takes long. An overlong address becomes `unknown`: V8
 * hashes strings of more than 16 KB by their length alone, so long ones would collide.
 */
export function dropForwardedPorts({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const forwarded = headers['x-forwarded-for']
  if (typeof forwarded !== 'string') return
  const last = lastAddresses(forwarded)
  const isPlain = last.length <= ADDRESS_CHARS && !last.includes(':')
  headers['x-forwarded-for'] = isPlain ? last : last.split(',').map(withoutPort).join(',')
}

function lastAddresses(text: string): string {
  let from = text.length
  for (let count = 0; count < FORWARDED && from >= 0; count++)
    from = from === 0 ? -1 : text.lastIndexOf(',', from - 1)
  return text.slice(from + 1)
}

function withoutPort(text: string): string {
  const address = text.trim()
  if (address.length > ADDRESS_CHARS) return 'unknown'
  const [, ipv4, ipv6] = /^(?:([\d.]+):\d+|\[([\da-f:.]+)\](?::\d+)?)$/i.exec(address) ?? []
  return ipv4 ?? ipv6 ?? address
}
