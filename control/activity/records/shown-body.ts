import { isObject, objectOf } from '../../../process/json-objects.ts'
import { parseJson } from '../../../process/parse-json.ts'
import type { Delivery } from '../../../schemas/delivery.ts'
import { MASK, maskTexts, type Who } from '../../../settings/mask.ts'
import type { Destination } from '../../../settings/settings.ts'

/** Only a placeholder without quoted text: `{{properties.total | default: 0}}`. */
const ONLY_VALUE = /^\{\{[^"{}]*\}\}$/

/**
 * A shape can contain an API key. So the view token sees `***` instead of the shape's texts, and of all texts where the
 * body does not fit today's shape.
 */
export function shownBody(
  { body, type, deadReason }: Pick<Delivery, 'body' | 'type' | 'deadReason'>,
  destination: Pick<Destination, 'rules'> | undefined,
  who: Who,
): string {
  const shape = destination?.rules?.shape
  // never shaped
  const isPlain = type === 'delete' || deadReason === 'rules_failed'
  if (who !== 'view' || shape === undefined || isPlain) return body
  try {
    return JSON.stringify(masked(parseJson(body), shape))
  } catch {
    return MASK
  }
}

/** The name of the event is read from the body, so it may be a text of the shape, or of an earlier one. */
export function shownEvent(
  event: string | null,
  destination: Pick<Destination, 'rules'> | undefined,
  who: Who,
): string | null {
  const shape = destination?.rules?.shape
  if (who !== 'view' || event === null || shape === undefined) return event
  const isValue = isObject(shape) && typeof shape.event === 'string' && ONLY_VALUE.test(shape.event)
  return isValue ? event : MASK
}

function masked(value: unknown, shape: unknown): unknown {
  if (typeof shape === 'string') return ONLY_VALUE.test(shape) ? value : MASK
  // a list leaves out what the event lacks, so places may differ
  if (Array.isArray(shape) && Array.isArray(value) && shape.length === value.length)
    return value.map((each, index) => masked(each, shape[index]))
  if (!isObject(shape) || !isObject(value)) return maskTexts(value)
  const shown = (name: string, inner: unknown) =>
    Object.hasOwn(shape, name) ? masked(inner, shape[name]) : maskTexts(inner)
  return objectOf(Object.entries(value).map(([name, inner]) => [name, shown(name, inner)]))
}
