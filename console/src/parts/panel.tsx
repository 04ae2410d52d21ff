import { Box, Group, Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

/** A part of a view under a heading of its own. */
export function Panel({
  title,
  lead,
  actions,
  children,
}: {
  title?: string
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <Paper withBorder p="md" component="section" {...(title && { 'aria-label': title })}>
      {(title || actions) && (
        <Group justify="space-between" mb="sm" align="flex-start">
          <Box>
            {title && (
              <Title order={2} size="h4">
                {title}
              </Title>
            )}
            {lead && (
              <Text size="sm" c="dimmed" maw={720}>
                {lead}
              </Text>
            )}
          </Box>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
      )}
      {children}
    </Paper>
  )
}
