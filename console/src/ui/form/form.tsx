import { Button, Group, Stack, Text } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { isConflict } from '../../api/errors.ts'
import { Refusal } from '../error-alert.tsx'
import { ChangedMeanwhile } from './edit-conflict.tsx'
import type { FormState } from './editing.tsx'

type FormParts = FormState & {
  onSubmit: () => void
  saving: { error: unknown; isPending: boolean; reset: () => void }
  /** Found before the server was asked. */
  error?: unknown
  /** Whether what is wrong stands at its field, by its pointer. */
  shown: (pointer: string) => boolean
  action?: string
  done?: string
  disabled?: boolean
  children: ReactNode
}

/** Fields, what is wrong with them, and the button that saves them. */
export function Form(parts: FormParts) {
  const { opened, onTouch, onChange, onShow, isSaved, onSubmit, saving, shown, children } = parts
  const { action = 'Save', done = 'Saved', disabled = false } = parts
  const error = parts.error ?? saving.error
  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit()
  }
  function settle(how: () => void) {
    saving.reset()
    how()
  }
  return (
    <form onSubmit={submit} onChangeCapture={onChange} onClickCapture={onTouch}>
      <Stack maw={820}>
        {children}
        {isConflict(error) ? (
          <ChangedMeanwhile
            before={opened.base}
            latest={opened.latest}
            onShow={() => settle(onShow)}
            onKeep={() => settle(opened.keepMine)}
          />
        ) : (
          <Refusal error={error} shown={shown} />
        )}
        <Group>
          <Button
            type="submit"
            loading={saving.isPending}
            disabled={disabled}
            // begun anew after it was saved, the form has lost the focus
            autoFocus={isSaved}
          >
            {action}
          </Button>
          <Text size="sm" role="status">
            {isSaved && !saving.isPending && !error && done}
          </Text>
        </Group>
      </Stack>
    </form>
  )
}
