import { ActionIcon, Modal } from '@mantine/core'
import { useSignOut } from '../api/session.ts'
import { Icon } from '../parts/icon.tsx'
import { Refusal } from '../parts/refusal.tsx'

export function Account() {
  const signOut = useSignOut()
  return (
    <>
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
      <Modal
        opened={signOut.isError}
        onClose={signOut.reset}
        title="You may still be signed in"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Refusal error={signOut.error} />
      </Modal>
    </>
  )
}
