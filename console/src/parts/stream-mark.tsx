import { Badge } from '@mantine/core'
import type { StreamState } from '../api/stream.ts'

const SHOWN = {
  connecting: { color: 'gray', label: 'Connecting' },
  open: { color: 'green', label: 'Live' },
  lost: { color: 'yellow', label: 'Connecting again' },
} as const

/** Whether what is shown goes on by itself. */
export function StreamMark({ state }: { state: StreamState }) {
  const { color, label } = SHOWN[state]
  return (
    <Badge variant="dot" color={color} tt="none" fw={500} role="status">
      {label}
    </Badge>
  )
}
