import { Button, Group, Stack, Text } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { isConflict } from '../../api/client/errors.ts'
import { ErrorAlert } from '../error-alert.tsx'
import { EditConflict } from './edit-conflict.tsx'
import type { FormState } from './editing.tsx'

type FormProps = FormState & {
  onSubmit: () => void
  saving: { error: unknown; isPending: boolean; reset: () => void }
  /** A fault found without a request. */
  error?: unknown
  /** Whether a field shows this pointer's fault. */
  shown: (pointer: string) => boolean
  action?: string
  done?: string
  disabled?: boolean
  children: ReactNode
}

export function Form(props: FormProps) {
  const { edit, onTouch, onChange, onShow, isSaved, onSubmit, saving, shown, children } = props
  const { action: label = 'Save', done = 'Saved', disabled = false } = props
  const error = props.error ?? saving.error
  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit()
  }
  function resolve(action: () => void) {
    saving.reset()
    action()
  }
  return (
    // not onClickCapture: it would render before the click changes a checkbox, and lose that change
    // biome-ignore lint/a11y/useKeyWithClickEvents: a key that presses a button or checkbox also fires a click
    <form onSubmit={submit} onChangeCapture={onChange} onClick={onTouch}>
      <Stack maw={820}>
        {children}
        {isConflict(error) ? (
          <EditConflict
            before={edit.base}
            latest={edit.latest}
            onShow={() => resolve(onShow)}
            onKeep={() => resolve(edit.keepMine)}
          />
        ) : (
          <ErrorAlert error={error} shown={shown} />
        )}
        <Group>
          <Button
            type="submit"
            loading={saving.isPending}
            disabled={disabled}
            // after saving, the form starts over without the focus
            autoFocus={isSaved}
          >
            {label}
          </Button>
          <Text size="sm" role="status">
            {isSaved && !saving.isPending && !error && done}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}
