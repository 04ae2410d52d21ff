import { Alert, Badge } from '@mantine/core'
import { type Freshness, whyOld } from '../api/stream/freshness.ts'
import { When } from './values/when.tsx'

/** That what is shown is not of now, and why; nothing for as long as a break is short. */
export function StreamAlert({ freshness }: { freshness: Freshness }) {
  const why = whyOld(freshness)
  if (!why) return null
  return (
    <Alert color="red" role="alert" title={why.title}>
      {why.says}{' '}
      {freshness.toldAt !== undefined && (
        <>
          What is shown is of <When at={freshness.toldAt} short />.
        </>
      )}
    </Alert>
  )
}

const SHOWN = {
  connecting: { color: 'gray', label: 'Connecting' },
  open: { color: 'green', label: 'Live' },
  lost: { color: 'yellow', label: 'Connecting again' },
} as const

const OLD = { color: 'red', label: 'Not up to date' } as const

/** Whether what is shown goes on by itself. */
export function StreamMark({ freshness: { state, isAway } }: { freshness: Omit<Freshness, 'toldAt'> }) {
  const { color, label } = state.is === 'open' && isAway ? OLD : SHOWN[state.is]
  return (
    <Badge variant="dot" color={color} tt="none" fw={500} role="status" miw="max-content">
      {label}
    </Badge>
  )
}
