import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { perObject } from '../../process/per-object.ts'
import { type CompiledRules, compileRules } from '../../rules/compile.ts'
import { eventNamesOf } from '../../rules/filter.ts'
import { patternCompilations } from '../../rules/pattern.ts'
import { hashOf } from '../../rules/redact.ts'
import type { Event } from '../../schemas/event.ts'
import type { Outline } from '../../settings/lookup.ts'
import { render } from '../render.ts'

type Compiled = { rules: CompiledRules; key: KeyObject }

/** Undefined without rules. */
export const compiledOf = (destination: Outline): CompiledRules | undefined => compiled(destination)?.rules

let compilations = 0

/** Counts compiled rules and patterns of this process. A pattern takes up to 10 ms. */
export const compilationCount = (): number => compilations + patternCompilations()

/** Filter and sample only, to decide quickly about many events. */
export function decidingOf(destination: Outline): CompiledRules | undefined {
  const { filter, sample } = destination.rules ?? {}
  return filter || sample ? compileDeciding(destination) : undefined
}

// a changed destination is a new object
const compileDeciding = perObject(({ rules: { filter, sample } = {}, hashKey }: Outline) =>
  compileRules({ ...(filter && { filter }), ...(sample && { sample }) }, hashKeyOf(hashKey), render),
)

/** As the rules do for `as: hash`. */
export function hashedBy(destination: Outline, text: string): string {
  const found = compiled(destination)
  return found ? hashOf(found.key, text) : ''
}

const compiled = (destination: Outline): Compiled | undefined => destination.rules && compile(destination)

const compile = perObject(({ rules = {}, hashKey }: Outline): Compiled => {
  compilations += 1
  const bytes = hashKeyOf(hashKey)
  return { rules: compileRules(rules, bytes, render), key: createSecretKey(bytes) }
})

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
export const groupOf = perObject(
  (connected: readonly Outline[]): Group => grouped(connected.filter(({ enabled }) => enabled)),
)

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
