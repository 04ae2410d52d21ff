import { isObject, objectOf } from '../process/json-objects.ts'
import { pointer } from '../process/json-pointer.ts'
import type { Fault, Members } from './faults.ts'
import { mapSecrets, type SecretField, secretFields } from './seal.ts'

/**
 * `admin` may do everything, `view` may only read, `workspace` may manage the destinations of one workspace and read
 * its sources.
 */
export type Who = 'admin' | 'view' | 'workspace'

/** A PUT that contains it keeps the current secret. */
export const MASK = '***'

/**
 * Masks secrets; an admin sees write keys. The view token gets only scheme and host of webhook URLs, and no strings
 * of a shape: they can contain an API key.
 */
export function mask<T extends object>(record: T, who: Who): T {
  const masked: T & { webhooks?: unknown; rules?: unknown } = mapSecrets(record, () => MASK)
  if (who === 'admin') return { ...masked, ...writeKeysOf(record) }
  if (who === 'workspace') return masked
  if (Array.isArray(masked.webhooks))
    for (const webhook of masked.webhooks) webhook.url = maskUrl(webhook.url)
  return withoutShape(masked)
}

function withoutShape<T extends { rules?: unknown }>(record: T): T {
  const { rules } = record
  if (!isObject(rules) || rules.shape === undefined) return record
  return { ...record, rules: { ...rules, shape: maskTexts(rules.shape) } }
}

/** Masks every string in a JSON value, but not the keys. */
export function maskTexts(value: unknown): unknown {
  if (typeof value === 'string') return MASK
  if (Array.isArray(value)) return value.map(maskTexts)
  if (!isObject(value)) return value
  return objectOf(Object.entries(value).map(([name, inner]) => [name, maskTexts(inner)]))
}

const writeKeysOf = (record: object) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => WRITE_KEYS.has(name)))

const WRITE_KEYS: ReadonlySet<string> = new Set(['writeKey', 'previousWriteKey'])

/** Not by the parsed URL: of `https://host/token/..`, it has no path. */
const HOST_ONLY = /^https?:\/\/[^/\\?#\s]*\/?$/i

/** Masks everything after the host: it may hold tokens. */
export function maskUrl(url: string): string {
  const parsed = URL.parse(url)
  return !parsed || HOST_ONLY.test(url) ? url : `${parsed.origin}/${MASK}`
}

export type Restored = { body: unknown; faults: Fault[] }

/**
 * Replaces each mask in a body, not yet validated, with its old value. Matches headers by webhook URL and name, and
 * masked URLs by host. A mask without a value is a fault, and its field is left out.
 */
export function restoreMasked(body: unknown, old: object | undefined): Restored {
  const faults: Fault[] = []
  if (!isObject(body)) return { body, faults }
  const copy = structuredClone(body)
  const fields = old && isObject(old) ? old : {}
  webhooksOf(copy).forEach((webhook, index) => {
    if (isObject(webhook)) restoreUrl(webhook, { old: webhooksOf(fields), index, faults })
  })
  for (const field of secretFields(copy)) {
    const { owner, name, path } = field
    unmask(owner, { name, kept: keptSecret(field, copy, fields), path, faults })
  }
  return { body: copy, faults }
}

function keptSecret({ name, webhook: index }: SecretField, body: Members, old: Members): unknown {
  if (index === undefined) return old[name]
  const webhook = webhooksOf(body)[index]
  return isObject(webhook) ? oldHeader(webhooksOf(old), { url: webhook.url, name, index }) : undefined
}

type MaskedField = { name: string; kept: unknown; path: readonly PropertyKey[]; faults: Fault[] }

function unmask(owner: Members, { name, kept, path, faults }: MaskedField): void {
  if (owner[name] !== MASK) return
  if (kept !== undefined) {
    owner[name] = kept
    return
  }
  delete owner[name]
  const none = path.includes('headers') ? 'this URL has none under this name' : 'there is none'
  const message = `"${MASK}" keeps the old value, but ${none}: give the value itself, or leave it out`
  faults.push({ pointer: pointer(path), code: 'nothing_to_keep', message })
}

/** Prefers the webhook at the same position. */
function restoreUrl(
  webhook: Members,
  { old, index, faults }: { old: readonly unknown[]; index: number; faults: Fault[] },
): void {
  const { url } = webhook
  if (typeof url !== 'string' || !url.endsWith(`/${MASK}`)) return
  const hasMaskedUrl = (candidate: unknown) =>
    isObject(candidate) && typeof candidate.url === 'string' && maskUrl(candidate.url) === url
  const kept = [old[index], ...old].find(hasMaskedUrl)
  webhook.url = MASK
  unmask(webhook, {
    name: 'url',
    kept: isObject(kept) ? kept.url : undefined,
    path: ['webhooks', index, 'url'],
    faults,
  })
}

/** Of several webhooks with this URL, prefers the one at the same position. */
function oldHeader(old: readonly unknown[], header: { url: unknown; name: string; index: number }): unknown {
  for (const webhook of [old[header.index], ...old]) {
    if (!isObject(webhook) || webhook.url !== header.url || !isObject(webhook.headers)) continue
    const found = Object.entries(webhook.headers).find(
      ([name]) => name.toLowerCase() === header.name.toLowerCase(),
    )
    if (found) return found[1]
  }
  return undefined
}

const webhooksOf = ({ webhooks }: Members): unknown[] => (Array.isArray(webhooks) ? webhooks : [])
