import { useCallback, useReducer, useRef } from 'react'
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
  const state = useStream(liveUrl(sourceId), (name, data, id) => {
    // listed in docs/reference/activity.md
    buffer.current.push({ name, data, id } as FeedEvent)
    if (buffer.current.length > 1) return
    // one render per frame
    requestAnimationFrame(() => dispatch({ type: 'events', events: buffer.current.splice(0) }))
  })
  const pause = useCallback(() => dispatch({ type: 'pause' }), [])
  const toggle = useCallback((id: string) => dispatch({ type: 'toggle', id }), [])
  return { ...feed, state, pause, toggle }
}
