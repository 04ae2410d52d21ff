import { Alert, Badge } from '@mantine/core'
import { useStatus } from '../api/status.ts'
import { type Freshness, whyStale } from '../api/stream/freshness.ts'
import { Timestamp } from './values/time.tsx'

/** Not during a short break. */
export function StreamAlert({ freshness }: { freshness: Freshness }) {
  const why = whyStale(freshness)
  if (!why) return null
  return (
    <Alert color="red" role="alert" title={why.title}>
      {why.explanation}{' '}
      {freshness.updatedAt !== undefined && (
        <>
          Showing data from <Timestamp at={freshness.updatedAt} short />.
        </>
      )}
    </Alert>
  )
}

const STATES = {
  connecting: { color: 'gray', label: 'Connecting' },
  open: { color: 'green', label: 'Live' },
  lost: { color: 'yellow', label: 'Reconnecting' },
  ended: { color: 'gray', label: 'Ended' },
} as const

const OUTDATED = { color: 'red', label: 'Outdated' } as const

export function StreamBadge({
  freshness: { state, isUnavailable },
}: {
  freshness: Omit<Freshness, 'updatedAt'>
}) {
  // a hanging control process keeps its stream open for a while
  const { isError } = useStatus()
  const { color, label } = state.is === 'open' && (isUnavailable || isError) ? OUTDATED : STATES[state.is]
  return (
    <Badge variant="dot" color={color} tt="none" fw={500} role="status" miw="max-content">
      {label}
    </Badge>
  )
}
