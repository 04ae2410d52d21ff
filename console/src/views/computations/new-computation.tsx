import { Button, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { type Kind, useCreateComputation } from '../../api/computations.ts'
import { faultAt } from '../../api/errors.ts'
import { useSources } from '../../api/sources.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { WORDS } from './labels.ts'

const SHOWN = ['/name', '/sourceId']

type NewParts = { kind: Kind; opened: boolean; onClose: () => void }

export function NewComputation({ kind, opened, onClose }: NewParts) {
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState('')
  const query = useSources()
  const create = useCreateComputation(kind)
  const { one, example } = WORDS[kind]
  const sourceId = chosen || (query.data?.[0]?.id ?? '')
  function close() {
    setName('')
    create.reset()
    onClose()
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    create.mutate({ name, sourceId }, { onSuccess: close })
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={`New ${one}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Name"
            placeholder={example}
            description="Receivers see it in snake_case. It cannot be renamed."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={faultAt(create.error, '/name')}
            data-autofocus
          />
          <Loaded query={query}>
            {(sources) =>
              sources.length === 0 ? (
                <Text size="sm">Make a source first: the identify calls are sent in the name of one.</Text>
              ) : (
                <NativeSelect
                  label="Source"
                  description="The identify calls are sent in its name, to its destinations."
                  value={sourceId}
                  onChange={(event) => setChosen(event.currentTarget.value)}
                  data={sources.map((source) => ({ value: source.id, label: source.name }))}
                  error={faultAt(create.error, '/sourceId')}
                />
              )
            }
          </Loaded>
          <Refusal error={create.error} shown={(pointer) => SHOWN.includes(pointer)} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending} disabled={sourceId === ''}>
              Create {one}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
