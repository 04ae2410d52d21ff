import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { isObject, withMember, withoutMember } from '../process/json-objects.ts'
import { truncateAddress } from '../process/truncate-address.ts'
import type { Event } from '../schemas/event.ts'
import { type Budget, type Call, column, type Json, shownAsProperties, spend, spendPrinting } from './call.ts'
import {
  EACH,
  isJsonRoot,
  isWrong,
  JSON_ROOTS,
  type JsonRoot,
  type Key,
  parsePath,
  type Root,
} from './path.ts'
import type { Redact, Redaction } from './rules.ts'

/** String fields that can be redacted. The others identify the event or are needed to deliver it. */
const TEXTS = ['event', 'userId', 'anonymousId', 'previousId', 'groupId', 'name', 'category'] as const
type Text = (typeof TEXTS)[number]

export const isRedactable = (root: Root): root is Text | JsonRoot =>
  isJsonRoot(root) || TEXTS.some((name) => name === root)

/** Does not change the given call, and returns it if nothing is redacted. */
export type RedactCall = (call: Call) => Call

/** Never gets null. @returns undefined to drop the value. */
type Replace = (value: Json, budget: Budget) => Json | undefined

/** @returns undefined if an entry cannot be compiled. */
export function compileRedact(items: readonly Redact[], hashKey: Buffer): RedactCall | undefined {
  const key = createSecretKey(hashKey)
  const steps = items.map((item) => compileOne(item, key))
  const valid = steps.filter((step) => step !== undefined)
  if (valid.length < steps.length) return
  if (valid.length === 0) return (call) => call
  const roots = JSON_ROOTS.filter((root) => items.some(({ path }) => rootOf(path) === root))
  return (call) => {
    // parsed before the first change: a dropped column would otherwise look unchanged
    for (const root of roots) column(call, root)
    return printed(
      valid.reduce((redacted, step) => step(redacted), call),
      call,
    )
  }
}

function rootOf(text: string): Root | undefined {
  const path = parsePath(text)
  return isWrong(path) ? undefined : path.root
}

function printed(call: Call, before: Call): Call {
  if (call === before) return call
  const changes = JSON_ROOTS.filter((root) => call.columns[root] !== before.columns[root]).map((root) => {
    const value = call.columns[root]
    return [root, value !== undefined && spendPrinting(value, call, root) ? JSON.stringify(value) : null]
  })
  return { ...call, event: { ...call.event, ...Object.fromEntries(changes) } }
}

function compileOne({ path: text, as }: Redact, key: KeyObject): RedactCall | undefined {
  const path = parsePath(text)
  if (isWrong(path) || !isRedactable(path.root)) return
  const replace = replacement(as, key)
  const { root } = path
  if (!isJsonRoot(root)) return (call) => withText(call, root, replace)
  if (root !== 'properties') return (call) => withColumn(call, { root, keys: path.keys, replace })
  return (call) =>
    shownTexts(call.event, path.keys).reduce(
      (redacted, name) => withText(redacted, name, replace),
      withColumn(call, { root, keys: path.keys, replace }),
    )
}

/** The body shows some fields as properties, so a property's path redacts these too. */
function shownTexts({ type }: Event, [first, ...rest]: readonly Key[]): Text[] {
  if (rest.length > 0) return []
  return shownAsProperties(type).filter((name) => first === undefined || first === name)
}

function withText(call: Call, name: Text, replace: Replace): Call {
  const value = call.event[name]
  if (value === null) return call
  const replaced = replace(value, call.budget)
  if (replaced === value) return call
  return { ...call, event: { ...call.event, [name]: typeof replaced === 'string' ? replaced : null } }
}

type ColumnChange = { root: JsonRoot; keys: readonly Key[]; replace: Replace }

function withColumn(call: Call, { root, keys, replace }: ColumnChange): Call {
  const before = column(call, root)
  if (before === undefined) return call
  // for the members: copying takes at most as long as reading the column
  if (!spend(call.budget, call.event[root]?.length ?? 0)) return emptied(call, root)
  const after = changed(before, keys, { replace, budget: call.budget })
  return after === before ? call : { ...call, columns: { ...call.columns, [root]: after } }
}

const emptied = (call: Call, root: JsonRoot): Call => ({
  ...call,
  columns: { ...call.columns, [root]: undefined },
})

type Change = { replace: Replace; budget: Budget }

/**
 * Copies only what changes, never in place. In a list, null replaces a dropped value. Once the budget is spent, drops what
 * it would copy.
 */
function changed(value: Json, keys: readonly Key[], change: Change): Json | undefined {
  const { replace, budget } = change
  const [key, ...rest] = keys
  if (key === undefined) return value === null ? null : replace(value, budget)
  if (Array.isArray(value)) {
    if (typeof key === 'string') return value
    const after = value.map((each, index) =>
      key === EACH || key === index ? (changed(each, rest, change) ?? null) : each,
    )
    return after.every((each, index) => each === value[index]) ? value : after
  }
  if (typeof key !== 'string' || !isObject(value)) return value
  const before = Object.hasOwn(value, key) ? value[key] : undefined
  if (before === undefined) return value
  const after = changed(before, rest, change)
  if (after === before) return value
  if (!spend(budget, COPY_WORK)) return undefined
  return after === undefined ? withoutMember(value, key) : withMember(value, key, after)
}

/** For an object. Index names make it up to three times as slow. */
const COPY_WORK = 20

/** In characters read. `truncate`: for an IP address. */
const WORK = { hash: 400, mask: 20, truncate: 300 }

function replacement(as: Redaction, key: KeyObject): Replace {
  if (as === 'drop') return () => undefined
  const replace = { hash: (text: string) => hashOf(key, text), mask, truncate }[as]
  const work = WORK[as]
  return (value, budget) => {
    // an object's keys may reveal as much as its values
    if (typeof value === 'object') return
    const text = String(value)
    return spend(budget, text.length + work) ? replace(text) : undefined
  }
}

/**
 * The first 128 bits of an HMAC-SHA256, in hexadecimal. Within a destination, equal values get equal hashes.
 * @param key from `createSecretKey`: raw bytes take six times as long.
 */
export const hashOf = (key: KeyObject, text: string): string =>
  createHmac('sha256', key).update(text).digest('hex').slice(0, 32)

const MASKS = [4, 8, 16, 32, 64]

/** Reveals only a range for the length. */
function mask(text: string): string {
  return text === '' ? '' : '*'.repeat(MASKS.find((length) => length >= text.length) ?? 64)
}

const KEPT_CHARACTERS = 4

/** The network of an IP address (/24 or /48), otherwise the first four characters, but at most half. */
function truncate(text: string): string {
  // ipaddr.js takes fewer zones (%eth-0) than isIP
  if (isIP(text) !== 0) return truncateAddress(text.replace(/%.*/, ''))
  const characters = Array.from(text.slice(0, 4 * KEPT_CHARACTERS)).slice(0, 2 * KEPT_CHARACTERS)
  return characters.slice(0, Math.min(KEPT_CHARACTERS, Math.floor(characters.length / 2))).join('')
}
