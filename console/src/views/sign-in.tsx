import { Box, Button, Center, Group, Modal, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type FormEvent, useEffect, useState } from 'react'
import { useSignIn } from '../api/session.ts'
import { SchemeToggle } from '../shell/scheme-toggle.tsx'
import { Refusal } from '../ui/error-alert.tsx'
import { Logo } from '../ui/layout/icon.tsx'

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

/** The session has ended: over the page, which nobody sees meanwhile, so that what was typed there is not lost. */
export function SignInAgain({ opened }: { opened: boolean }) {
  return (
    <Modal
      opened={opened}
      onClose={() => {}}
      title="Your session has ended"
      withCloseButton={false}
      centered
      overlayProps={{ backgroundOpacity: 1, color: 'var(--mantine-color-body)' }}
    >
      <Stack>
        <Text size="sm">Sign in again: what you have typed is still there.</Text>
        <TokenForm />
      </Stack>
    </Modal>
  )
}

export function TokenForm() {
  const [token, setToken] = useState('')
  const signIn = useSignIn()
  function submit(event: FormEvent) {
    event.preventDefault()
    signIn.mutate(token.trim(), { onSuccess: () => setToken('') })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <PasswordInput
          label="Control token"
          description="npm start prints it as “token”; who runs Sluice elsewhere has it as CONTROL_TOKEN, or CONTROL_VIEW_TOKEN to look only."
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
          required
          withAsterisk={false}
          autoFocus
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
  )
}
