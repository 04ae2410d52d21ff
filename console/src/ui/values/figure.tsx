import { Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export function Figure({
  label,
  children,
  hint,
  isBad = false,
}: {
  label: string
  children: ReactNode
  hint?: string
  isBad?: boolean
}) {
  return (
    <Paper withBorder p="sm" title={hint} className="figure">
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text fz={24} fw={650} lh={1.3} c={isBad ? 'var(--mantine-color-error)' : 'inherit'}>
        {children}
      </Text>
    </Paper>
  )
}
