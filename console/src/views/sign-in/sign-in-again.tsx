import { Modal, Stack, Text } from '@mantine/core'
import { TokenForm } from './token-form.tsx'

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
