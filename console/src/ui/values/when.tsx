import { useSyncExternalStore } from 'react'
import { fromNow, localTime, shortTime, utcTime } from '../../wording/format.ts'

/** A time in the zone of who looks, and in UTC where the pointer rests. */
export function When({ at, short = false }: { at: string | null; short?: boolean }) {
  if (at === null) return <>never</>
  return (
    <time dateTime={at} title={utcTime(at)} className="time">
      {short ? shortTime(at) : localTime(at)}
    </time>
  )
}

/** How long ago, or how long until then; goes on by itself. */
export function Since({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={`${localTime(at)} (${utcTime(at)})`} className="time">
      {fromNow(at, now)}
    </time>
  )
}

/** Milliseconds since 1970, a second exact. */
export const useNow = (): number => useSyncExternalStore(clock.subscribe, clock.now)

const listeners = new Set<() => void>()
let at = Date.now()
let ticking: ReturnType<typeof setInterval> | undefined

function tick(): void {
  at = Date.now()
  for (const listener of listeners) listener()
}

/** One timer a second for all that goes on by itself, while there is any. */
export const clock = {
  /** ms since 1970 */
  now: () => at,
  subscribe(listener: () => void): () => void {
    if (listeners.size === 0) {
      at = Date.now()
      ticking = setInterval(tick, 1_000)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) clearInterval(ticking)
    }
  },
}
