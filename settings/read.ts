import { z } from 'zod'
import type { Outline, Setting } from './lookup.ts'
import { type ConfigKeys, openRecord, verify } from './seal.ts'
import {
  EVENT_TYPES,
  type Kind,
  storedComputation,
  storedDestination,
  storedSource,
  storedSuppression,
} from './settings.ts'

/**
 * A record that cannot be read: no key opens its secrets (`sealed`), or it is no setting of this version (`malformed`). `reason`
 * has no secret and no user in it. `outline`: where a destination's events come from, when that much can be read.
 */
export type Unread = { unread: 'sealed' | 'malformed'; reason: string; outline: Outline | undefined }

const shapes = {
  source: storedSource,
  destination: storedDestination,
  suppression: storedSuppression,
  audience: storedComputation,
  trait: storedComputation,
}

/** @returns undefined for other kinds than these. Never throws. */
export function readSetting(
  key: string,
  value: Buffer,
  { keys, kinds }: { keys: ConfigKeys; kinds: readonly Kind[] },
): Setting | Unread | undefined {
  const kind = kinds.find((each) => key.startsWith(`${each}/`))
  if (!kind) return undefined
  const text = value.toString()
  const verified = verify(key, text, keys)
  const isSigned = typeof verified === 'object'
  const record = parsed(isSigned ? verified.json : text)
  if (!record) return malformed('it is no JSON object')
  // nothing of these is gone by: even an outline could route the events of one source to the destination of another
  if (verified === 'forged') return { unread: 'sealed', reason: FORGED, outline: undefined }
  if (!isSigned && !keys.takesUnsigned) return { unread: 'sealed', reason: UNSIGNED, outline: undefined }
  const outline = kind === 'destination' ? outlineOf(key, record) : undefined
  try {
    // nothing is secret in a suppression, of which there may be very many
    const opened = kind === 'suppression' ? record : openRecord(key, { record, isSigned }, keys)
    if (!opened) return { unread: 'sealed', reason: NO_KEY, outline }
    return shaped(kind, key, opened) ?? malformed(faultOf(kind, opened), outline)
  } catch {
    // a webhook that is no object, headers that are none
    return malformed('it has not the shape of its kind', outline)
  }
}

const NO_KEY = 'no key of CONFIG_KEY opens its secrets'
const FORGED = 'no key of CONFIG_KEY has signed it'
export const UNSIGNED = 'it has no signature, and UNSIGNED_SETTINGS is refuse'

const malformed = (reason: string, outline?: Outline): Unread => ({ unread: 'malformed', reason, outline })

function parsed(text: string): object | undefined {
  try {
    const record: unknown = JSON.parse(text)
    return typeof record === 'object' && record !== null && !Array.isArray(record) ? record : undefined
  } catch {
    return undefined
  }
}

/** A record under another's key would stand for two settings. */
function shaped(kind: Kind, key: string, record: object): Setting | undefined {
  const { data } = shapes[kind].safeParse(record)
  // the shape is that of its kind, which the compiler cannot see
  return data && `${kind}/${data.id}` === key ? ({ kind, value: data } as Setting) : undefined
}

function faultOf(kind: Kind, record: object): string {
  const { error } = shapes[kind].safeParse(record)
  if (!error) return 'its id is not that of its key'
  const faults = error.issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`)
  return faults.slice(0, 3).join('; ')
}

const outlineShape = z.object({
  enabled: z.boolean(),
  sourceIds: z.array(z.string()),
  eventTypes: z.array(z.enum(EVENT_TYPES)).optional(),
})

function outlineOf(key: string, record: object): Outline | undefined {
  const { data } = outlineShape.safeParse(record)
  if (!data) return undefined
  const { eventTypes, ...outline } = data
  return { id: key.slice('destination/'.length), ...outline, ...(eventTypes && { eventTypes }) }
}
