import { useSyncExternalStore } from 'react'
import { shownNow } from '../../api/client/clock.ts'
import { fromNow, localTime, shortTime, utcTime } from '../../wording/format.ts'

export function Timestamp({ at, short = false }: { at: string | null; short?: boolean }) {
  if (at === null) return <>never</>
  return (
    <time dateTime={at} title={utcTime(at)} className="time">
      {short ? shortTime(at) : localTime(at)}
    </time>
  )
}

export function RelativeTime({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={`${localTime(at)} (${utcTime(at)})`} className="time">
      {fromNow(at, now)}
    </time>
  )
}

/** ms since 1970, every second, whatever the browser's clock says. */
export const useNow = (): number => useSyncExternalStore(clock.subscribe, clock.now)

const listeners = new Set<() => void>()
let current = shownNow()
let timer: ReturnType<typeof setInterval> | undefined

function tick(): void {
  current = shownNow()
  for (const listener of listeners) listener()
}

/** One timer for all components. */
const clock = {
  /** ms since 1970 */
  now: () => current,
  subscribe(listener: () => void): () => void {
    if (listeners.size === 0) {
      current = shownNow()
      timer = setInterval(tick, 1_000)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) clearInterval(timer)
    }
  },
}
