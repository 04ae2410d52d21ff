import { isObject } from '../../../process/json-objects.ts'
import type { Delivery } from '../../../schemas/delivery.ts'

/** `user`: the userId, or else the anonymousId. */
export type Subject = { event: string | null; user: string | null }

/** @param key of the record: destinationId/user. */
export function subjectOf({ type, body }: Pick<Delivery, 'type' | 'body'>, key: string): Subject {
  return { event: nameIn(type, body), user: key.slice(key.indexOf('/') + 1) || null }
}

const TEXT = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`
/** The start of a body that `render` wrote, where the name follows the user. */
const NAMED = new RegExp(
  String.raw`^\{"version":1,"type":"(?:track|screen)"(?:,"(?:userId|anonymousId)":${TEXT})?,"(?:event|name)":(${TEXT})`,
)

function nameIn(type: string, body: string): string | null {
  if (type !== 'track' && type !== 'screen' && type !== 'page') return null
  try {
    const [, quoted] = NAMED.exec(body) ?? []
    if (quoted !== undefined) return JSON.parse(quoted) as string
    const parsed: unknown = JSON.parse(body)
    if (!isObject(parsed)) return null
    const inPage = type === 'page' && isObject(parsed.properties) ? parsed.properties.name : undefined
    const name = parsed.event ?? parsed.name ?? inPage
    return typeof name === 'string' ? name : null
  } catch {
    // another writer's record
    return null
  }
}

/** A copy, because a slice would hold on to the whole text. */
export const beginningOf = (text: string, characters: number): string =>
  text.length > characters ? Buffer.from(text.slice(0, characters)).toString() : text
