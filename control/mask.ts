import { mapSecrets } from '../schemas/seal.ts'
import type { Who } from './auth.ts'

/** Stands in answers where a secret is; sent back in a PUT it means: as it was. */
export const MASK = '***'

/**
 * A record as it may leave the process: without its secrets, but for write keys, which an admin sees. Of webhooks' URLs the view token gets scheme
 * and host.
 */
export function mask<T extends object>(record: T, who: Who): T {
  const masked: T & { webhooks?: unknown } = mapSecrets(record, () => MASK)
  if (who === 'admin') return 'writeKey' in record ? { ...masked, writeKey: record.writeKey } : masked
  if (Array.isArray(masked.webhooks))
    for (const webhook of masked.webhooks) webhook.url = maskUrl(webhook.url)
  return masked
}

/** Tokens stand in URLs: in a query, and for some receivers in the path. Behind the host there is a mask for all of it. */
export function maskUrl(url: string): string {
  const parsed = URL.parse(url)
  if (!parsed || parsed.href === `${parsed.origin}/`) return url
  return `${parsed.origin}/${MASK}`
}
