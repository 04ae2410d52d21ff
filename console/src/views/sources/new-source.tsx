import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { faultAt } from '../../api/errors.ts'
import { useCreateSource } from '../../api/sources.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { type Kind, KindField } from './kind-field.tsx'

const SHOWN = ['/name']

export function NewSource({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('server')
  const create = useCreateSource()
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
            description="Of what will send the calls, like “Shop” or “iOS app”."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={faultAt(create.error, '/name')}
            data-autofocus
          />
          <KindField value={kind} onChange={setKind} />
          <Refusal error={create.error} shown={(pointer) => SHOWN.includes(pointer)} />
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
