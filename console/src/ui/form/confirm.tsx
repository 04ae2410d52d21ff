import { Button, Group, Modal, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { visible } from '../../wording/visible.ts'
import { ErrorAlert } from '../error-alert.tsx'

type ConfirmProps = {
  opened: boolean
  onClose: () => void
  title: string
  children: ReactNode
  /** A verb with its object, such as "Delete CRM". */
  action: string
  danger?: boolean
  onConfirm: () => void
  loading: boolean
  disabled?: boolean
  error: unknown
}

export function Confirm(props: ConfirmProps) {
  const { opened, onClose, title, children, action, danger = false, onConfirm, loading, error } = props
  const { disabled = false } = props
  useReturnedFocus()
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={visible(title)}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Stack>
        {children}
        <ErrorAlert error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button
            color={danger ? 'red.9' : 'water'}
            onClick={onConfirm}
            loading={loading}
            disabled={disabled}
            h="auto"
            mih={36}
            py={6}
            styles={WHOLE_NAME}
          >
            {visible(action)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

/** A long name must not hide the end of “Turn … off”. */
const WHOLE_NAME = { label: { whiteSpace: 'normal', overflowWrap: 'anywhere' } } as const

/** A dialog removed while open cannot return the focus itself. */
function useReturnedFocus(): void {
  const [opener] = useState(() => document.activeElement)
  useEffect(
    () => () => {
      if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus()
    },
    [opener],
  )
}

type ConfirmDeleteProps = Pick<ConfirmProps, 'opened' | 'onClose' | 'onConfirm' | 'children'> & {
  name: string
  mutation: { isPending: boolean; error: unknown }
}

export const ConfirmDelete = ({ name, mutation, ...props }: ConfirmDeleteProps) => (
  <Confirm
    {...props}
    title={`Delete ${name}?`}
    action={`Delete ${name}`}
    danger
    loading={mutation.isPending}
    error={mutation.error}
  />
)
