/** In ISO 8601; undefined if unknown. A search from `since` to `until` finds the missed calls. */
export type Gap = { since: string | undefined; until: string | undefined }

/** An event of a live stream (docs/reference/activity.md). `data`: parsed JSON. */
export type LiveEvent = { event: string; id: string | undefined; data: unknown }

/** A stream begins with at most this many of the latest calls. */
const LATEST = 50
/** A call may wait this long for Kafka after its receipt, and searches go by the time at which it was written. */
const WRITING_MS = 10_000
const IS_CALL: ReadonlySet<string> = new Set(['call', 'rejected'])

/**
 * A stream begins with the latest calls. If a reopened one begins with none that were shown before, calls may have been
 * missed. Call `opened` before each stream.
 */
export function gapFinder() {
  let hasBegun = false
  let newest: string | undefined
  let isStarting = true
  let isConnected = false
  /** Receipt times of new calls at the beginning of a stream, by id. Kept if the stream breaks before `ready`. */
  const latest = new Map<string | undefined, string | undefined>()

  function gapAtReady(calls: number): Gap | undefined {
    const times = [...latest.values()].filter((at) => at !== undefined).sort()
    const hasGap = hasBegun && !isConnected && (newest !== undefined || calls >= LATEST)
    const gap = { since: newest, until: writtenBefore(times[0]) }
    newest = times.at(-1) ?? newest
    hasBegun = true
    isStarting = false
    latest.clear()
    return hasGap ? gap : undefined
  }

  return {
    opened(): void {
      isStarting = true
      isConnected = false
    },
    received({ event, data, id }: LiveEvent, isNew: boolean): Gap | undefined {
      if (event === 'ready') return gapAtReady(Number(memberOf(data, 'calls')) || 0)
      if (!IS_CALL.has(event)) return undefined
      const at = receivedAtOf(data)
      if (!isStarting) newest = at ?? newest
      else if (isNew) latest.set(id, at)
      else if (!latest.has(id)) isConnected = true
      return undefined
    },
  }
}

const writtenBefore = (receivedAt: string | undefined) =>
  receivedAt && new Date(Date.parse(receivedAt) + WRITING_MS).toISOString()

const memberOf = (data: unknown, name: string): unknown =>
  typeof data === 'object' && data !== null ? Reflect.get(data, name) : undefined

function receivedAtOf(data: unknown): string | undefined {
  const at = new Date(String(memberOf(data, 'receivedAt')))
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** @param source undefined for all sources */
export function findCommand({ since, until }: Gap, source: string | undefined): string {
  const given = Object.entries({ source, since, until })
  const options = given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${value}`]))
  return ['sluice events find', ...options].join(' ')
}

const REMEMBERED = 10_000

/** Remembers at least the last 10,000 keys. */
export function firstSeen<T>(keyOf: (value: T) => string): (value: T) => boolean {
  let [younger, older] = [new Set<string>(), new Set<string>()]
  return (value) => {
    const key = keyOf(value)
    if (younger.has(key) || older.has(key)) return false
    if (younger.size >= REMEMBERED) [younger, older] = [new Set(), younger]
    younger.add(key)
    return true
  }
}
