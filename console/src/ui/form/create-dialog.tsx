import { Button, Group, Modal, Stack } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { ErrorAlert } from '../error-alert.tsx'

type CreateDialogProps = {
  opened: boolean
  onClose: () => void
  /** Such as "source". */
  what: string
  children: ReactNode
  /** Pointers of fields that show their own errors. */
  fields: readonly string[]
  error: unknown
  onSubmit: () => void
  loading: boolean
  disabled?: boolean
}

export function CreateDialog(props: CreateDialogProps) {
  const { opened, onClose, what, children, fields, error, onSubmit, loading, disabled = false } = props
  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit()
  }
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={`New ${what}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <form onSubmit={submit}>
        <Stack>
          {children}
          <ErrorAlert error={error} shown={(pointer) => fields.includes(pointer)} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={loading} disabled={disabled}>
              Create {what}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
