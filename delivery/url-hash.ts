/**
 * Tells whether a webhook still has the URL of an attempt. Attempts do not store URLs, which may contain tokens. FNV-1a
 * over UTF-16 units, as a signed 32-bit integer. The console computes it too.
 */
export function urlHash(url: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < url.length; at++) hash = Math.imul(hash ^ url.charCodeAt(at), 0x01000193)
  return hash | 0
}
