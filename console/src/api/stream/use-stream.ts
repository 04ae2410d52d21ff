import { useDocumentVisibility } from '@mantine/hooks'
import { useEffect, useEffectEvent, useReducer, useState } from 'react'
import { handleSessionEnd } from '../client/query-client.ts'
import { follow, type StreamState } from './follow.ts'
import { type Freshness, NO_VALUES, receive } from './freshness.ts'

/**
 * Follows a stream while the page is visible: browsers allow few connections, and control few watchers.
 * @param onEvent gets the parsed JSON as `data`.
 */
export function useStream(
  url: string | undefined,
  onEvent: (name: string, data: unknown, id: string) => void,
  onOpen: () => void = () => undefined,
): StreamState {
  const [state, setState] = useState<StreamState>({ is: 'connecting' })
  const emit = useEffectEvent(onEvent)
  const emitOpen = useEffectEvent(onOpen)
  const isVisible = useDocumentVisibility() === 'visible'

  useEffect(() => {
    if (url === undefined || !isVisible) return
    const controller = new AbortController()
    void follow({
      url,
      signal: controller.signal,
      onEvent: ({ event, data, id = '' }) => emit(event, JSON.parse(data), id),
      onState(next) {
        setState(next)
        if (next.is === 'open') emitOpen()
        if (next.is === 'lost') handleSessionEnd(next.error)
      },
    })
    return () => controller.abort()
  }, [url, isVisible])

  return state
}

/** For streams whose events each replace a value. */
export function useLatest<T>(url: string): { values: Partial<T>; freshness: Freshness } {
  const [{ values, unavailable, updatedAt }, dispatch] = useReducer(receive<T>, NO_VALUES)
  const state = useStream(url, (name, data) => dispatch({ name, data, at: new Date().toISOString() }))
  return { values, freshness: { state, isUnavailable: unavailable.length > 0, updatedAt } }
}
