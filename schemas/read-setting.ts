import { z } from 'zod'
import { type Keys, mapSecrets, unseal } from './seal.ts'
import {
  EVENT_TYPES,
  type Kind,
  storedComputation,
  storedDestination,
  storedSource,
  storedSuppression,
} from './settings.ts'
import type { Outline, Setting } from './settings-index.ts'

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
  { keys, kinds }: { keys: Keys; kinds: readonly Kind[] },
): Setting | Unread | undefined {
  const kind = kinds.find((each) => key.startsWith(`${each}/`))
  if (!kind) return undefined
  const record = parsed(value)
  if (record === undefined) return malformed('it is no JSON object')
  const outline = kind === 'destination' ? outlineOf(key, record) : undefined
  try {
    // nothing is secret in a suppression, of which there may be very many
    const opened = kind === 'suppression' ? record : unsealed(record, { keys, owner: key })
    if (!opened) return { unread: 'sealed', reason: NO_KEY, outline }
    return shaped(kind, key, opened) ?? malformed(faultOf(kind, opened), outline)
  } catch {
    // a webhook that is no object, headers that are none
    return malformed('it has not the shape of its kind', outline)
  }
}

const NO_KEY = 'no key of CONFIG_KEY opens its secrets'

const malformed = (reason: string, outline?: Outline): Unread => ({ unread: 'malformed', reason, outline })

function parsed(value: Buffer): object | undefined {
  try {
    const record: unknown = JSON.parse(value.toString())
    return typeof record === 'object' && record !== null && !Array.isArray(record) ? record : undefined
  } catch {
    return undefined
  }
}

/** @returns undefined when no key opens one of its secrets. */
function unsealed(record: object, { keys, owner }: { keys: Keys; owner: string }): object | undefined {
  let isOpen = true
  const opened = mapSecrets(record, (sealed) => {
    const text = unseal(sealed, { keys, owner })
    isOpen &&= text !== undefined
    return text ?? ''
  })
  return isOpen ? opened : undefined
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
