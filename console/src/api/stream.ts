import { useEffect, useEffectEvent, useState } from 'react'

export type StreamState = 'connecting' | 'open' | 'lost'

/**
 * Server-sent events while the component is there. The browser comes again by itself after a break, except where the answer
 * is an error (too many watchers): then we do.
 * @param onEvent gets the event's name and its data; the streams of the API all carry JSON.
 */
export function useStream(
  url: string | undefined,
  names: readonly string[],
  onEvent: (name: string, data: unknown, id: string) => void,
): StreamState {
  const [state, setState] = useState<StreamState>('connecting')
  const tell = useEffectEvent(onEvent)
  const listened = names.join(' ')

  useEffect(() => {
    if (url === undefined) return
    let source: EventSource
    let again: ReturnType<typeof setTimeout> | undefined
    function open(at: string): void {
      source = new EventSource(at)
      source.onopen = () => setState('open')
      source.onerror = () => {
        setState('lost')
        if (source.readyState === EventSource.CLOSED) again = setTimeout(() => open(at), AGAIN_MS)
      }
      for (const name of listened.split(' '))
        source.addEventListener(name, (event) => {
          if (event instanceof MessageEvent) tell(name, JSON.parse(String(event.data)), event.lastEventId)
        })
    }
    open(url)
    return () => {
      clearTimeout(again)
      source.close()
    }
  }, [url, listened])

  return state
}

const AGAIN_MS = 5_000
