import { useDocumentVisibility } from '@mantine/hooks'
import { useEffect, useEffectEvent, useReducer, useState } from 'react'
import { notice } from '../query-client.ts'
import { follow, type StreamState } from './follow.ts'
import { type Freshness, heard, NOTHING } from './freshness.ts'

/**
 * Server-sent events while the component is there and somebody may see it: a browser has few connections, and control lets few
 * watch at once.
 * @param onEvent gets the event's name and its data; the streams of the API all carry JSON.
 */
export function useStream(
  url: string | undefined,
  onEvent: (name: string, data: unknown, id: string) => void,
): StreamState {
  const [state, setState] = useState<StreamState>({ is: 'connecting' })
  const tell = useEffectEvent(onEvent)
  const isSeen = useDocumentVisibility() === 'visible'

  useEffect(() => {
    if (url === undefined || !isSeen) return
    const ending = new AbortController()
    void follow({
      url,
      signal: ending.signal,
      onTold: ({ event, data, id = '' }) => tell(event, JSON.parse(data), id),
      onState(next) {
        setState(next)
        if (next.is === 'lost') notice(next.error)
      },
    })
    return () => ending.abort()
  }, [url, isSeen])

  return state
}

/** A stream of what is so, each thing whenever it has changed. */
export function useBroadcast<T>(url: string): { told: Partial<T>; freshness: Freshness } {
  const [{ told, away, toldAt }, tell] = useReducer(heard<T>, NOTHING)
  const state = useStream(url, (name, data) => tell({ name, data, at: new Date().toISOString() }))
  return { told, freshness: { state, isAway: away.length > 0, toldAt } }
}
