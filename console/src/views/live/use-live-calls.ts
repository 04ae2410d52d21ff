import { useCallback, useReducer, useRef, useState } from 'react'
import { firstSeen, gapFinder } from '../../../../cli/api/missed-calls.ts'
import { liveUrl } from '../../api/live.ts'
import type { StreamState } from '../../api/stream/follow.ts'
import { useStream } from '../../api/stream/use-stream.ts'
import { EMPTY_FEED, type Feed, type FeedEvent, reduceFeed } from './feed.ts'

export function useLiveCalls(sourceId: string): Feed & {
  state: StreamState
  pause: () => void
  toggle: (id: string) => void
} {
  const [feed, dispatch] = useReducer(reduceFeed, EMPTY_FEED)
  const buffer = useRef<FeedEvent[]>([])
  const [{ gaps, isNew }] = useState(() => ({ gaps: gapFinder(), isNew: firstSeen<string>((id) => id) }))

  function show(event: FeedEvent): void {
    buffer.current.push(event)
    if (buffer.current.length > 1) return
    // one render per frame
    requestAnimationFrame(() => dispatch({ type: 'events', events: buffer.current.splice(0) }))
  }

  const state = useStream(
    liveUrl(sourceId),
    (name, data, id) => {
      const gap = gaps.received({ event: name, data, id }, isNew(id))
      if (gap) show({ name: 'missed', data: gap, id: `missed since ${gap.since}` })
      // listed in docs/reference/activity.md
      show({ name, data, id } as FeedEvent)
    },
    gaps.opened,
  )
  const pause = useCallback(() => dispatch({ type: 'pause' }), [])
  const toggle = useCallback((id: string) => dispatch({ type: 'toggle', id }), [])
  return { ...feed, state, pause, toggle }
}
