import { Alert, Button, Center, Loader, Stack, Text } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { Component, lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import type { PortalLink } from './api/portal-link.ts'
import { useSession } from './api/session.ts'
import { ErrorAlert } from './ui/error-alert.tsx'
import { usePortalLink } from './views/portal-link.tsx'
import { Routes } from './views/routes.tsx'
import { SignIn, SignInAgain } from './views/sign-in.tsx'

// the sign-in page does not need it
const Shell = lazy(async () => ({ default: (await import('./shell/shell.tsx')).Shell }))

type AppProps = {
  link: PortalLink | undefined
  /** Why single sign-on failed, in a sentence. */
  signOnError: string | undefined
}

export function App({ link, signOnError }: AppProps) {
  const session = useSession()
  const { question, isOpening, error } = usePortalLink(link, session.data)
  const [path] = useLocation()
  const isOver = session.data?.isOver ?? false
  const [failure, setFailure] = useState(signOnError)
  // it must not show again after a sign-out
  useEffect(() => {
    if (session.data) setFailure(undefined)
  }, [session.data])
  // Escape would close the dialog behind the sign-in and lose what was typed there. This listener is the first: the app
  // mounts before its dialogs
  useWindowEvent('keydown', (event) => isOver && event.key === 'Escape' && event.stopImmediatePropagation(), {
    capture: true,
  })
  if (session.data)
    return (
      <Boundary path={path}>
        <Suspense fallback={<Loading />}>
          <Shell key={`${session.data.who} ${session.data.workspaceId}`} session={session.data}>
            <Boundary path={path}>
              <Routes />
            </Boundary>
            <SignInAgain session={session.data} linkError={error} />
            {question}
          </Shell>
        </Suspense>
      </Boundary>
    )
  if (session.data === null && !isOpening) return <SignIn linkError={error} signOnError={failure} />
  return (
    <Center mih="100vh" p="md">
      {session.error ? (
        <Stack align="center">
          <ErrorAlert error={session.error} />
          <Button variant="default" onClick={() => void session.refetch()} loading={session.isFetching}>
            Try again
          </Button>
        </Stack>
      ) : (
        <Loader role="status" aria-label="Loading" />
      )}
    </Center>
  )
}

const Loading = () => (
  <Center mih="100vh" p="md">
    <Loader role="status" aria-label="Loading" />
  </Center>
)

type BoundaryProps = { path: string; children: ReactNode }

class Boundary extends Component<BoundaryProps, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override componentDidUpdate({ path }: BoundaryProps): void {
    if (path !== this.props.path && this.state.error !== undefined) this.setState({ error: undefined })
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Alert color="red" role="alert" title="This page could not be loaded" maw={720}>
        <Text size="sm" mb="xs">
          Sluice may have been updated since you opened this page. Reload it. If that does not help, report a
          bug: {error instanceof Error ? error.message : String(error)}
        </Text>
        <Button size="xs" variant="default" onClick={() => window.location.reload()}>
          Reload
        </Button>
      </Alert>
    )
  }
}
