import {
  Box,
  Button,
  Center,
  Group,
  getDefaultZIndex,
  Modal,
  Paper,
  PasswordInput,
  Stack,
  Text,
  Title,
} from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type FormEvent, useEffect, useState } from 'react'
import { useSignIn } from '../api/session.ts'
import { SchemeToggle } from '../shell/scheme-toggle.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Logo } from '../ui/layout/icon.tsx'

export function SignIn() {
  useDocumentTitle('Sign in - Sluice')
  // signing in removes the form that had the focus
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

/** Covers the page after the session's end, and keeps what was typed. */
export function SignInAgain({ opened }: { opened: boolean }) {
  return (
    <Modal
      opened={opened}
      onClose={() => {}}
      title="Your session has ended"
      withCloseButton={false}
      centered
      // above the dialogs of views, which may be newer
      zIndex={getDefaultZIndex('overlay')}
      overlayProps={{ backgroundOpacity: 1, color: 'var(--mantine-color-body)' }}
    >
      <Stack>
        <Text size="sm">Sign in again. Your unsaved changes are still here.</Text>
        <TokenForm />
      </Stack>
    </Modal>
  )
}

function TokenForm() {
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
          description="npm start prints it as “token”. In other setups it is CONTROL_TOKEN, or CONTROL_VIEW_TOKEN for read-only access."
          value={token}
          onChange={(event) => {
            setToken(event.currentTarget.value)
            signIn.reset()
          }}
          autoComplete="current-password"
          visibilityToggleButtonProps={{ 'aria-label': 'Show token' }}
          required
          withAsterisk={false}
          autoFocus
          data-autofocus
        />
        <ErrorAlert error={signIn.error} title="Sign-in failed" />
        <Button type="submit" loading={signIn.isPending} disabled={token.trim() === ''}>
          Sign in
        </Button>
        <Text size="xs" c="dimmed">
          The token is not stored in this browser. Your session lasts 12 hours.
        </Text>
      </Stack>
    </form>
  )
}
