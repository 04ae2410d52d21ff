import { Center, Loader, Stack } from '@mantine/core'
import { useSession } from './api/session.ts'
import { Refusal } from './parts/refusal.tsx'
import { Shell } from './shell/shell.tsx'
import { SignIn } from './views/sign-in/sign-in.tsx'
import { Views } from './views/views.tsx'

export function App() {
  const session = useSession()
  if (session.data) return <Shell session={session.data}>{<Views />}</Shell>
  if (session.data === null) return <SignIn />
  return (
    <Center mih="100vh" p="md">
      {session.error ? (
        <Stack>
          <Refusal error={session.error} />
        </Stack>
      ) : (
        <Loader aria-label="Loading" />
      )}
    </Center>
  )
}
