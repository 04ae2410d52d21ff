import { Box, Center, Group, Paper, Stack, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useEffect } from 'react'
import { Logo } from '../../shell/logo.tsx'
import { SchemeToggle } from '../../shell/scheme-toggle.tsx'
import { TokenForm } from './token-form.tsx'

export function SignIn() {
  useDocumentTitle('Sign in - Sluice')
  // what had the focus is gone with it
  useEffect(() => () => document.getElementById('main')?.focus({ preventScroll: true }), [])
  return (
    <Box component="main">
      <Group justify="flex-end" p="md">
        <SchemeToggle />
      </Group>
      <Center mih="70vh" p="md">
        <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
          <Stack>
            <Group gap="sm">
              <Logo size={36} />
              <Title order={1} size="h2">
                Sign in to Sluice
              </Title>
            </Group>
            <TokenForm />
          </Stack>
        </Paper>
      </Center>
    </Box>
  )
}
