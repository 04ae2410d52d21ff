import { useCallback, useReducer, useRef } from 'react'
import type { StreamState } from '../../api/follow.ts'
import { liveUrl } from '../../api/live.ts'
import { useStream } from '../../api/stream.ts'
import { after, type Live, NOTHING, type Told } from './rows.ts'

/** The last calls of a source, and those that come. */
export function useLiveCalls(sourceId: string): Live & {
  state: StreamState
  pause: () => void
  toggle: (id: string) => void
} {
  const [live, act] = useReducer(after, NOTHING)
  const coming = useRef<Told[]>([])
  const state = useStream(liveUrl(sourceId), (name, data, id) => {
    // the API's stream says no other: docs/reference/activity.md
    coming.current.push({ name, data, id } as Told)
    if (coming.current.length > 1) return
    // once a frame, however many come
    requestAnimationFrame(() => act({ did: 'told', messages: coming.current.splice(0) }))
  })
  const pause = useCallback(() => act({ did: 'pause' }), [])
  const toggle = useCallback((id: string) => act({ did: 'toggle', id }), [])
  return { ...live, state, pause, toggle }
}
