import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { type CompiledRules, compileRules } from '../../rules/compile.ts'
import { eventNamesOf } from '../../rules/filter.ts'
import { patternCompilations } from '../../rules/pattern.ts'
import { hashOf } from '../../rules/redact.ts'
import type { Event } from '../../schemas/event.ts'
import type { Outline } from '../../settings/lookup.ts'
import { render } from '../render.ts'

type Compiled = { rules: CompiledRules; key: KeyObject }

// a changed destination is a new object
const cache = new WeakMap<Outline, Compiled>()

/** Undefined without rules. */
export const compiledOf = (destination: Outline): CompiledRules | undefined => compiled(destination)?.rules

let compilations = 0

/** Counts compiled rules and patterns of this process. A pattern takes up to 10 ms. */
export const compilationCount = (): number => compilations + patternCompilations()

const deciding = new WeakMap<Outline, CompiledRules>()

/** Filter and sample only, to decide quickly about many events. */
export function decidingOf(destination: Outline): CompiledRules | undefined {
  const { rules: { filter, sample } = {}, hashKey } = destination
  if (!filter && !sample) return undefined
  const before = deciding.get(destination)
  if (before) return before
  const made = compileRules(
    { ...(filter && { filter }), ...(sample && { sample }) },
    hashKeyOf(hashKey),
    render,
  )
  deciding.set(destination, made)
  return made
}

/** As the rules do for `as: hash`. */
export function hashedBy(destination: Outline, text: string): string {
  const found = compiled(destination)
  return found ? hashOf(found.key, text) : ''
}

function compiled(destination: Outline): Compiled | undefined {
  const { rules, hashKey } = destination
  if (!rules) return undefined
  const before = cache.get(destination)
  if (before) return before
  const bytes = hashKeyOf(hashKey)
  const made = { rules: compileRules(rules, bytes, render), key: createSecretKey(bytes) }
  cache.set(destination, made)
  compilations += 1
  return made
}

/** Control generates keys for destinations that redact. Otherwise a random one still hides the values. */
export const hashKeyOf = (hashKey: string | undefined): Buffer =>
  hashKey === undefined ? randomBytes(32) : Buffer.from(hashKey)

/** A source's enabled destinations. `plain`: without rules. `byName`: those that get only events with this name. */
type Group = {
  plain: readonly Outline[]
  ruled: readonly Outline[]
  unnamed: readonly Outline[]
  byName: ReadonlyMap<string, readonly Outline[]>
}

// the settings return the same list until any destination changes
const groups = new WeakMap<readonly Outline[], Group>()

export function groupOf(connected: readonly Outline[]): Group {
  const before = groups.get(connected)
  if (before) return before
  const group = grouped(connected.filter(({ enabled }) => enabled))
  groups.set(connected, group)
  return group
}

function grouped(enabled: readonly Outline[]): Group {
  const plain = enabled.filter((each) => !isRuled(each))
  const ruled = enabled.filter(isRuled)
  const unnamed: Outline[] = []
  const byName = new Map<string, Outline[]>()
  for (const destination of ruled) {
    const { rules, hasUnreadRules } = destination
    // does not compile the rules: the patterns of a thousand destinations take seconds
    const names = hasUnreadRules || !rules?.filter ? undefined : eventNamesOf(rules.filter)
    if (!names) unnamed.push(destination)
    for (const name of names ?? []) {
      const named = byName.get(name)
      if (named) named.push(destination)
      else byName.set(name, [destination])
    }
  }
  return { plain, ruled, unnamed, byName }
}

export const isRuled = ({ rules, hasUnreadRules }: Outline) => rules !== undefined || hasUnreadRules === true

/** Those whose rules may let the event pass. A source can have a thousand with one event name each. */
export function candidates({ type, event }: Event, { ruled, unnamed, byName }: Group): readonly Outline[] {
  // rules let every deletion pass
  if (byName.size === 0 || type === 'delete') return ruled
  const named = event === null ? undefined : byName.get(event)
  if (!named) return unnamed
  return unnamed.length === 0 ? named : [...unnamed, ...named]
}
