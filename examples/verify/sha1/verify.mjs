import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Whether Sluice sent this request. `rawBody`: the bytes as received, before any JSON parser.
 * `headers`: those of Node's request, whose names are in lower case.
 */
export function isGenuine(rawBody, headers, secret) {
  const expected = createHmac('sha1', secret).update(rawBody).digest()
  // while the secret is rotated, the second header is signed with the previous one
  return [headers['x-signature'], headers['x-signature-previous']].some((signature = '') => {
    const given = Buffer.from(signature, 'hex')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
