import { parseJson } from '../../../process/parse-json.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { MASK } from '../../../settings/mask.ts'
import { isoTime } from '../../api/response.ts'

const TIMES = ['timestamp', 'receivedAt', 'sentAt', 'originalTimestamp'] as const
const OBJECTS = ['properties', 'traits', 'context', 'integrations'] as const
/** For each object. */
const MAX_CHARACTERS = 8_192
const RAW_CHARACTERS = 1_024
const RAW_READ = 4 * RAW_CHARACTERS
/** With so many characters of `raw`, `rejectedJson` returns the same as with all of them. */
export const RAW_NEEDED = RAW_READ + 1

/** Non-null fields, times in ISO 8601. `omitted` names objects that are too long. */
export function callJson({ sourceId: _, ...event }: Event): object {
  const given = Object.entries(event).filter(([, value]) => value !== null)
  const shown: Record<string, unknown> = Object.fromEntries(given)
  for (const name of TIMES) if (event[name] !== null) shown[name] = isoTime(event[name])
  const omitted: string[] = []
  for (const name of OBJECTS) {
    const text = event[name]
    if (text === null) continue
    if (text.length <= MAX_CHARACTERS) shown[name] = parsed(text)
    else {
      delete shown[name]
      omitted.push(name)
    }
  }
  return omitted.length > 0 ? { ...shown, omitted } : shown
}

/** @param writeKey masked: clients may send it in the call, but not every watcher may see it. */
export function rejectedJson({ code, message, receivedAt, raw }: Rejected, writeKey = ''): object {
  const hidden = hideKeys(raw.slice(0, RAW_READ), writeKey)
  const truncated = raw.length > RAW_READ || hidden.length > RAW_CHARACTERS
  return { code, message, receivedAt: isoTime(receivedAt), raw: hidden.slice(0, RAW_CHARACTERS), truncated }
}

/** Also masks the source's earlier keys, and keys that are cut off. */
const hideKeys = (text: string, writeKey: string): string =>
  (writeKey ? text.replaceAll(writeKey, MASK) : text).replace(
    /("writeKey"\s*:\s*")(?:[^"\\]|\\.)*/g,
    `$1${MASK}`,
  )

/** Other writers' values may not be JSON. */
function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
