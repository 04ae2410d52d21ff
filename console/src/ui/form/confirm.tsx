import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { Refusal } from '../error-alert.tsx'

type ConfirmParts = {
  opened: boolean
  onClose: () => void
  title: string
  children: ReactNode
  /** What the button does, as a verb with its object: "Delete CRM". */
  action: string
  danger?: boolean
  onConfirm: () => void
  loading: boolean
  disabled?: boolean
  error: unknown
}

/** Asks before something that cannot be taken back. */
export function Confirm(parts: ConfirmParts) {
  const { opened, onClose, title, children, action, danger = false, onConfirm, loading, error } = parts
  const { disabled = false } = parts
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Stack>
        {children}
        <Refusal error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color={danger ? 'red' : 'water'} onClick={onConfirm} loading={loading} disabled={disabled}>
            {action}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
