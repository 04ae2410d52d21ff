import { z } from 'zod'
import { isDeeper } from '../process/json-depth.ts'
import { isObject } from '../process/json-objects.ts'
import { parseJson } from '../process/parse-json.ts'
import { rulesShape } from '../rules/rules.ts'
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
 * `sealed`: no key opens its secrets. `malformed`: no setting of this version. `reason` holds no secret and no user
 * id. `outline`: of a destination, if at least that can be read.
 */
export type Unread = { unread: 'sealed' | 'malformed'; reason: string; outline: Outline | undefined }

const shapes = {
  source: storedSource,
  destination: storedDestination,
  suppression: storedSuppression,
  audience: storedComputation,
  trait: storedComputation,
}

/** @returns undefined for other kinds. Never throws. */
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
  // use nothing of a forgery: even an outline could route one source's events to another's destination. Do not parse it
  // either: that could take seconds
  if (verified === 'forged') return { unread: 'sealed', reason: FORGED, outline: undefined }
  if (!isSigned && !keys.takesUnsigned)
    return text.startsWith('{') ? { unread: 'sealed', reason: UNSIGNED, outline: undefined } : NO_OBJECT
  if (isDeeper(value, MAX_LEVELS)) return TOO_DEEP
  const record = parsed(isSigned ? verified.json : text)
  if (!record) return NO_OBJECT
  const outline = kind === 'destination' ? outlineOf(key, record) : undefined
  try {
    // suppressions have no secrets, and there may be very many
    const opened = kind === 'suppression' ? record : openRecord(key, { record, isSigned }, keys)
    if (!opened) return { unread: 'sealed', reason: NO_KEY, outline }
    return shaped(kind, key, opened) ?? malformed(faultOf(kind, opened), outline)
  } catch {
    // a webhook is not an object, or its headers are not
    return malformed('it does not have the shape of its kind', outline)
  }
}

const NO_KEY = 'no key in CONFIG_KEY opens its secrets'
const FORGED = 'it is not signed with any key in CONFIG_KEY'
export const UNSIGNED = 'it has no signature, and UNSIGNED_SETTINGS is refuse'

const malformed = (reason: string, outline?: Outline): Unread => ({ unread: 'malformed', reason, outline })
const NO_OBJECT = malformed('it is not a JSON object')
/** Control accepts 32. Validating a filter of 1,000 overflowed the stack, which ended each process. */
const MAX_LEVELS = 64
const TOO_DEEP = malformed('it is nested too deeply')

function parsed(text: string): object | undefined {
  try {
    const record = parseJson(text)
    return isObject(record) ? record : undefined
  } catch {
    return undefined
  }
}

/** A record under another record's key would stand for two settings. */
function shaped(kind: Kind, key: string, record: object): Setting | undefined {
  const { data } = shapes[kind].safeParse(record)
  // the compiler cannot see that the schema belongs to the kind
  return data && `${kind}/${data.id}` === key ? ({ kind, value: data } as Setting) : undefined
}

function faultOf(kind: Kind, record: object): string {
  const { error } = shapes[kind].safeParse(record)
  if (!error) return 'its id does not match its key'
  const faults = error.issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`)
  return faults.slice(0, 3).join('; ')
}

const outlineShape = z.object({
  enabled: z.boolean(),
  sourceIds: z.array(z.string()),
  eventTypes: z.array(z.enum(EVENT_TYPES)).exactOptional(),
  rules: z.unknown().optional(),
} satisfies Record<Exclude<keyof Outline, 'id' | 'hashKey' | 'hasUnreadRules'>, z.ZodType>)

function outlineOf(key: string, record: object): Outline | undefined {
  const { data } = outlineShape.safeParse(record)
  if (!data) return undefined
  const { rules: given, ...outline } = data
  const id = key.slice('destination/'.length)
  if (given === undefined) return { id, ...outline }
  const { data: rules } = rulesShape.safeParse(given)
  return { id, ...outline, ...(rules && { rules }), hasUnreadRules: true }
}
