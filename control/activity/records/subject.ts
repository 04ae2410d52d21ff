import { memberNames, memberText } from '../../../process/json-text.ts'
import type { Delivery } from '../../../schemas/delivery.ts'

/** `user`: the userId, or else the anonymousId. */
export type Subject = { event: string | null; user: string | null }

/** @param key of the record: destinationId/user. */
export function subjectOf({ type, body }: Pick<Delivery, 'type' | 'body'>, key: string): Subject {
  return { event: nameIn(type, body), user: key.slice(key.indexOf('/') + 1) || null }
}

/**
 * Decodes only the source, because most records are skipped for it.
 * @param key `source/user`, or `source` for rejected calls.
 */
export function sourceOf(key: Buffer): string {
  const slash = key.indexOf('/')
  return key.toString('latin1', 0, slash < 0 ? key.length : slash)
}

const TEXT = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`
/** The start of a track event that `render` wrote, where the name follows the user. */
const NAMED = new RegExp(
  String.raw`^\{"version":1,"type":"track"(?:,"(?:userId|anonymousId)":${TEXT})?,"event":(${TEXT})`,
)

/** In chars. On millions of escapes, the pattern overflows V8's stack. */
const NAMED_WITHIN = 64 * 1024

function nameIn(type: string, body: string): string | null {
  if (type !== 'track' && type !== 'screen' && type !== 'page') return null
  const [, quoted] = (type === 'track' && NAMED.exec(body.slice(0, NAMED_WITHIN))) || []
  return textIn(quoted ?? presentText(body, 'event') ?? nameRendered(type, body))
}

/** The members of a body that `render` wrote. */
const RENDERED = {
  page: /^version,type,(?:(?:userId|anonymousId),)?properties,timestamp,context$/,
  screen: /^version,type,(?:(?:userId|anonymousId),)?(?:name,)?(?:properties,)?timestamp,context$/,
}

/**
 * In a body of a shape, a `name` may be a user's, or a text that the view token must not see. A shape may begin
 * like a body that `render` wrote, so all members are compared.
 */
function nameRendered(type: 'track' | 'screen' | 'page', body: string): string | undefined {
  if (type === 'track' || !body.startsWith(`{"version":1,"type":"${type}"`)) return undefined
  if (!RENDERED[type].test(memberNames(body).join())) return undefined
  return presentText(type === 'page' ? (memberText(body, 'properties') ?? '') : body, 'name')
}

/** Does not parse the body: it may have 256 KB, and a list reads hundreds. */
function presentText(body: string, name: string): string | undefined {
  const text = memberText(body, name)
  return text === 'null' ? undefined : text
}

function textIn(json: string | undefined): string | null {
  if (!json?.startsWith('"')) return null
  try {
    return JSON.parse(json)
  } catch {
    // another writer's record
    return null
  }
}

/** A copy, because a slice would hold on to the whole text. */
export const beginningOf = (text: string, characters: number): string =>
  text.length > characters ? Buffer.from(text.slice(0, characters)).toString() : text
