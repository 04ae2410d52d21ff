import { Button, Center, Loader, Stack } from '@mantine/core'
import { useLocation } from 'wouter'
import { useSession } from './api/session.ts'
import { Boundary } from './parts/boundary.tsx'
import { Refusal } from './parts/refusal.tsx'
import { Shell } from './shell/shell.tsx'
import { SignIn } from './views/sign-in/sign-in.tsx'
import { SignInAgain } from './views/sign-in/sign-in-again.tsx'
import { Views } from './views/views.tsx'

export function App() {
  const session = useSession()
  const [path] = useLocation()
  if (session.data)
    return (
      <Shell key={session.data.who} session={session.data}>
        <Boundary path={path}>
          <Views />
        </Boundary>
        <SignInAgain opened={session.data.isOver} />
      </Shell>
    )
  if (session.data === null) return <SignIn />
  return (
    <Center mih="100vh" p="md">
      {session.error ? (
        <Stack align="center">
          <Refusal error={session.error} />
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
