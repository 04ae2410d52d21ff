import { parseJson } from '../../../process/parse-json.ts'
import type { Event } from '../../../schemas/event.ts'
import type { Rejected } from '../../../schemas/rejected.ts'
import { MASK } from '../../../settings/mask.ts'
import type { Source } from '../../../settings/settings.ts'
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
export function callJson({ sourceId: _, ...event }: Event, read: (text: string) => unknown = parsed): object {
  const given = Object.entries(event).filter(([, value]) => value !== null)
  const shown: Record<string, unknown> = Object.fromEntries(given)
  for (const name of TIMES) if (event[name] !== null) shown[name] = isoTime(event[name])
  const omitted: string[] = []
  for (const name of OBJECTS) {
    const text = event[name]
    if (text === null) continue
    if (text.length <= MAX_CHARACTERS) shown[name] = read(text)
    else {
      delete shown[name]
      omitted.push(name)
    }
  }
  return omitted.length > 0 ? { ...shown, omitted } : shown
}

/**
 * `more` and `callJson(event)` as JSON on one line. Objects are not printed again if they are on one line: V8 takes up to
 * 0.6 us for a number such as 9e-265.
 */
export function printCall(event: Event, more: object): string {
  const members = Object.entries({ ...more, ...callJson(event, asStored) }).map(
    ([name, value]) => `"${name}":${value instanceof Stored ? value.json : JSON.stringify(value)}`,
  )
  return `{${members.join(',')}}`
}

class Stored {
  readonly json: string
  constructor(json: string) {
    this.json = json
  }
}

function asStored(text: string): unknown {
  const value = parsed(text)
  return value === text || /[\r\n]/.test(text) ? value : new Stored(text)
}

export type WriteKeys = Pick<Source, 'writeKey' | 'previousWriteKey'>

/** @param keys of its source, masked: clients may send one in the call, but not every watcher may see it. */
export function rejectedJson({ code, message, receivedAt, raw }: Rejected, keys?: WriteKeys): object {
  const hidden = hideKeys(raw.slice(0, RAW_READ), [keys?.writeKey, keys?.previousWriteKey])
  const truncated = raw.length > RAW_READ || hidden.length > RAW_CHARACTERS
  return { code, message, receivedAt: isoTime(receivedAt), raw: hidden.slice(0, RAW_CHARACTERS), truncated }
}

/** Also masks the source's earlier keys, and keys that are cut off. */
const hideKeys = (text: string, keys: readonly (string | undefined)[]): string =>
  keys
    .reduce<string>((shown, key) => (key ? shown.replaceAll(key, MASK) : shown), text)
    .replace(/("writeKey"\s*:\s*")(?:[^"\\]|\\.)*/g, `$1${MASK}`)

/** Other writers' values may not be JSON. */
function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
