import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { fieldError, withoutCorrected } from '../../api/errors.ts'
import { useCreateSource } from '../../api/sources.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { type Kind, KindField } from './kind-field.tsx'

const SHOWN_AT_FIELDS = ['/name']

export function NewSource({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('server')
  const create = useCreateSource()
  const { error } = withoutCorrected(create, { name })
  function close() {
    setName('')
    setKind('server')
    create.reset()
    onClose()
  }
  const [, go] = useLocation()
  function submit(event: FormEvent) {
    event.preventDefault()
    create.mutate(
      { name, ...(kind !== 'server' && { kind }) },
      { onSuccess: ({ id }) => go(`/sources/${id}`) },
    )
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title="New source"
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            description="The app or website that sends the calls, such as “Shop” or “iOS app”."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={fieldError(error, '/name')}
            data-autofocus
          />
          <KindField value={kind} onChange={setKind} />
          <ErrorAlert error={error} shown={(pointer) => SHOWN_AT_FIELDS.includes(pointer)} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending}>
              Create source
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
