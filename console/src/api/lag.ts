import { useState } from 'react'
import type { Shapes } from './client.ts'
import { type StreamState, useStream } from './stream.ts'

export type LagItem = Shapes['Lag']
/** `at`: ISO 8601. */
export type Look = { items: readonly LagItem[]; at: string }

/** 20 minutes of looks, one every 2 s. */
const MOST = 600

/** How far each group is behind, as it goes on; `looks`, oldest first, since the page was opened. */
export function useLag(): { looks: readonly Look[]; state: StreamState; isAway: boolean } {
  const [looks, setLooks] = useState<readonly Look[]>([])
  const [isAway, setAway] = useState(false)
  const state = useStream('/api/lag/stream', ['lag', 'unavailable'], (name, data) => {
    setAway(name === 'unavailable')
    // as the API describes the same at GET /api/lag
    if (name === 'lag') setLooks((before) => [...before, data as Look].slice(-MOST))
  })
  return { looks, state, isAway }
}
