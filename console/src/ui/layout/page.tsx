import { Anchor, Box, Breadcrumbs, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { visible } from '../../wording/visible.ts'

type PageProps = {
  title: string
  lead?: ReactNode
  parent?: { title: string; to: string }
  beside?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

export function Page({ title: text, lead, parent, beside, actions, children }: PageProps) {
  const title = visible(text)
  useDocumentTitle(`${title} - Sluice`)
  return (
    <Stack gap="lg" maw={1240} mx="auto">
      <Box>
        {parent && (
          <Breadcrumbs mb={4} fz="sm" style={{ flexWrap: 'wrap' }}>
            <Anchor component={Link} to={parent.to} size="sm">
              {parent.title}
            </Anchor>
            <Text size="sm" lh="sm" c="dimmed" aria-current="page" className="wraps">
              {title}
            </Text>
          </Breadcrumbs>
        )}
        <Group justify="space-between" align="center">
          <Group gap="sm">
            <Title order={1} size="h2" className="in-flow">
              {title}
            </Title>
            {beside}
          </Group>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {lead && (
          <Text c="dimmed" mt={4} maw={820}>
            {lead}
          </Text>
        )}
      </Box>
      {children}
    </Stack>
  )
}

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
                {visible(title)}
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
