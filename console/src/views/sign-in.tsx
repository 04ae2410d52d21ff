import {
  Alert,
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
import { ApiError } from '../api/client/errors.ts'
import type { Session } from '../api/client/query-client.ts'
import { useSession, useSignIn } from '../api/session.ts'
import { returningTo, SIGN_ON_URL, signOnFailure } from '../api/single-sign-on.ts'
import { SchemeToggle } from '../shell/scheme-toggle.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Logo } from '../ui/layout/icon.tsx'

type LinkProps = { /** Of a portal link. */ linkError: unknown }

type SignInProps = LinkProps & { signOnError?: string | undefined }

/** Also removes it from the address, so that a reload does not show it again. */
export function takeSignOnFailure(): string | undefined {
  const { hash, pathname, search } = window.location
  const failure = signOnFailure(hash)
  if (failure) window.history.replaceState(null, '', pathname + search)
  return failure
}

export function SignIn({ linkError, signOnError }: SignInProps) {
  useDocumentTitle('Sign in - Sluice')
  // most people who open a link are customers, who have no control token
  const [showsForm, setShowsForm] = useState(!linkError)
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
            {showsForm ? (
              <OperatorForm linkError={linkError} signOnError={signOnError} />
            ) : (
              <BrokenLink linkError={linkError} onToken={() => setShowsForm(true)} />
            )}
          </Stack>
        </Paper>
      </Center>
    </Box>
  )
}

/** Covers the page after the session's end, and keeps what was typed. */
export function SignInAgain({ session, linkError }: LinkProps & { session: Session }) {
  return (
    <Modal
      opened={session.isOver}
      onClose={() => {}}
      title="Your session has ended"
      withCloseButton={false}
      centered
      // above the dialogs of views, which may be newer
      zIndex={getDefaultZIndex('overlay')}
      overlayProps={{ backgroundOpacity: 1, color: 'var(--mantine-color-body)' }}
    >
      <Stack>
        {session.who === 'workspace' ? (
          <NewLink linkError={linkError} />
        ) : (
          <>
            <Text size="sm">Sign in again. Your unsaved changes are still here.</Text>
            <OperatorForm linkError={linkError} isAgain />
          </>
        )}
      </Stack>
    </Modal>
  )
}

/** Customers have no control token. */
const NewLink = ({ linkError }: LinkProps) => (
  <>
    <LinkError linkError={linkError} />
    <Continue>
      Open a new portal link in this browser, then continue here. Your unsaved changes are still here.
    </Continue>
  </>
)

/** After a sign-in in another tab. Most browsers need no button: they notice it when this tab is shown again. */
function Continue({ children }: { children: string }) {
  const { refetch, isFetching } = useSession()
  return (
    <>
      <Text size="sm">{children}</Text>
      <Button variant="default" onClick={() => void refetch()} loading={isFetching}>
        Continue
      </Button>
    </>
  )
}

/** Otherwise, the same link may work later. */
const isRefused = (error: unknown) => error instanceof ApiError && error.status === 401

function BrokenLink({ linkError, onToken }: LinkProps & { onToken: () => void }) {
  return (
    <>
      <LinkError linkError={linkError} />
      <Text size="sm">
        {isRefused(linkError)
          ? 'Ask the person or app that gave you the link for a new one.'
          : 'Open the link again in a minute.'}
      </Text>
      <Button variant="default" onClick={onToken}>
        Sign in with a control token
      </Button>
    </>
  )
}

const LinkError = ({ linkError }: LinkProps) => (
  <ErrorAlert error={linkError} title="This link does not work" />
)

/** @param isAgain the page may hold unsaved changes, so single sign-on opens another tab. */
function OperatorForm({ linkError, signOnError, isAgain = false }: SignInProps & { isAgain?: boolean }) {
  const [showsToken, setShowsToken] = useState(SIGN_ON_URL === undefined)
  const { pathname, search } = window.location
  return (
    <>
      {SIGN_ON_URL !== undefined && (
        <>
          {signOnError && (
            <Alert color="red" role="alert" title="Sign-in failed">
              {signOnError}
            </Alert>
          )}
          <Button
            component="a"
            href={returningTo(SIGN_ON_URL, isAgain ? '/' : pathname + search)}
            {...(isAgain && { target: '_blank', rel: 'noopener' })}
            data-autofocus
          >
            Sign in with single sign-on
          </Button>
          {isAgain && (
            <Continue>Single sign-on opens another tab. Sign in there, then continue here.</Continue>
          )}
        </>
      )}
      {showsToken ? (
        <TokenForm linkError={linkError} />
      ) : (
        <>
          <LinkError linkError={linkError} />
          <Button variant="default" onClick={() => setShowsToken(true)}>
            Sign in with a control token
          </Button>
        </>
      )}
    </>
  )
}

function TokenForm({ linkError }: LinkProps) {
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
        {!signIn.error && <LinkError linkError={linkError} />}
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
