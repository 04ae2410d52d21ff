import { Button, PasswordInput, Stack, Text } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSignIn } from '../../api/session.ts'
import { Refusal } from '../../parts/refusal.tsx'

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
