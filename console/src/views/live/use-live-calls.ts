import { useReducer } from 'react'
import { LIVE_EVENTS, liveUrl } from '../../api/live.ts'
import { type StreamState, useStream } from '../../api/stream.ts'
import { type Live, NOTHING, type Told, told } from './rows.ts'

/** The last calls of a source, and those that come; `undefined`: of none. */
export function useLiveCalls(sourceId: string | undefined): Live & { state: StreamState } {
  const [live, tell] = useReducer(told, NOTHING)
  const url = sourceId === undefined ? undefined : liveUrl(sourceId)
  // the API's stream says no other: docs/activity.md
  const state = useStream(url, LIVE_EVENTS, (name, data, id) => tell({ name, data, id } as Told))
  return { ...live, state }
}
