import { useQuery } from '@tanstack/react-query'
import { useMemo, useReducer } from 'react'
import { answered, api } from '../../api/client.ts'
import type { Intake } from '../../api/health.ts'
import { type Freshness, type Heard, heard, type Message, NOTHING } from '../../api/heard.ts'
import { useStream } from '../../api/stream.ts'
import { type Look, type Past, pastOf, withLook } from './past.ts'

type Told = Heard<{ lag: Look; ingest: Intake }> & { past: readonly Past[] }

const after = (before: Told, message: Message): Told => ({
  ...heard(before, message),
  // as the API describes the same at GET /api/lag
  past: message.name === 'lag' ? withLook(before.past, message.data as Look) : before.past,
})

/** How far each group is behind and what comes in, as it goes on. `past`: since an hour before the page was opened. */
export function useLag(): Told & { freshness: Freshness } {
  const [told, tell] = useReducer(after, { ...NOTHING, past: [] })
  const state = useStream('/api/lag/stream', (name, data) =>
    tell({ name, data, at: new Date().toISOString() }),
  )
  const hour = useQuery({
    queryKey: ['lag', 'hour'],
    queryFn: () => answered(api.GET('/api/lag/hour')),
    // what comes then is told
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const past = useMemo(() => pastOf(hour.data?.items ?? [], told.past), [hour.data, told.past])
  return { ...told, past, freshness: { state, isAway: told.away.includes('lag'), toldAt: told.toldAt } }
}
