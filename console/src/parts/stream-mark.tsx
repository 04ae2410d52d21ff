import { Badge } from '@mantine/core'
import type { Freshness } from '../api/heard.ts'

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
