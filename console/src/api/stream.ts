import { useDocumentVisibility } from '@mantine/hooks'
import { useEffect, useEffectEvent, useState } from 'react'
import { follow, type StreamState } from './follow.ts'
import { notice } from './queries.ts'

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
