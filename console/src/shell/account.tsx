import { ActionIcon } from '@mantine/core'
import { useSignOut } from '../api/session.ts'
import { Icon } from '../parts/icon.tsx'

export function Account() {
  const signOut = useSignOut()
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={() => signOut.mutate()}
      loading={signOut.isPending}
      aria-label="Sign out"
      title="Sign out"
    >
      <Icon of="out" />
    </ActionIcon>
  )
}
