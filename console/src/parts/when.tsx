import { useSyncExternalStore } from 'react'
import { clock } from './clock.ts'
import { fromNow, localTime, shortTime, utcTime } from './time.ts'

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
