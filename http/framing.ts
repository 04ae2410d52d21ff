import type { IncomingMessage } from 'node:http'

/**
 * Whether a request may be read in two ways, of which a proxy may have taken the other: without a Host or with two of them (RFC 9112, 3.2),
 * or with a Transfer-Encoding that HTTP/1.0 does not have (6.1).
 */
export function isAmbiguous({ rawHeaders, headers, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) return true
  return httpVersion === '1.1' ? hosts === 0 : headers['transfer-encoding'] !== undefined
}
