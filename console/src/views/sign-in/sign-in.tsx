import { Box, Button, Center, Group, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { useSignIn } from '../../api/session.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { Logo } from '../../shell/logo.tsx'
import { SchemeToggle } from '../../shell/scheme-toggle.tsx'

export function SignIn() {
  useDocumentTitle('Sign in - Sluice')
  const [token, setToken] = useState('')
  const signIn = useSignIn()
  function submit(event: FormEvent) {
    event.preventDefault()
    signIn.mutate(token.trim())
  }
  return (
    <Box component="main">
      <Group justify="flex-end" p="md">
        <SchemeToggle />
      </Group>
      <Center mih="70vh" p="md">
        <Paper withBorder p="xl" w="100%" maw={420} shadow="sm">
          <form onSubmit={submit}>
            <Stack>
              <Group gap="sm">
                <Logo size={36} />
                <Title order={1} size="h2">
                  Sign in to Sluice
                </Title>
              </Group>
              <PasswordInput
                label="Control token"
                description="npm start prints it as “token”; who runs Sluice elsewhere has it as CONTROL_TOKEN, or CONTROL_VIEW_TOKEN to look only."
                value={token}
                onChange={(event) => setToken(event.currentTarget.value)}
                autoComplete="current-password"
                visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
                required
                withAsterisk={false}
                data-autofocus
              />
              <Refusal error={signIn.error} title="You are not signed in" />
              <Button type="submit" loading={signIn.isPending} disabled={token.trim() === ''}>
                Sign in
              </Button>
              <Text size="xs" c="dimmed">
                The token is not kept in this browser: it gets a session of 12 hours for it.
              </Text>
            </Stack>
          </form>
        </Paper>
      </Center>
    </Box>
  )
}
