import { NativeSelect, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { fieldError, withoutCorrected } from '../../api/client/errors.ts'
import { type Kind, useCreateComputation } from '../../api/computations.ts'
import { useSources } from '../../api/sources.ts'
import { CreateDialog } from '../../ui/form/create-dialog.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { visible } from '../../wording/visible.ts'
import { LABELS } from './labels.ts'

type NewProps = { kind: Kind; opened: boolean; onClose: () => void }

export function NewComputation({ kind, opened, onClose }: NewProps) {
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState('')
  const query = useSources()
  const create = useCreateComputation(kind)
  const { singular, example } = LABELS[kind]
  const sourceId = chosen || (query.data?.[0]?.id ?? '')
  const { error } = withoutCorrected(create, { name, sourceId })
  function close() {
    setName('')
    create.reset()
    onClose()
  }
  return (
    <CreateDialog
      opened={opened}
      onClose={close}
      what={singular}
      fields={['/name', '/sourceId']}
      error={error}
      onSubmit={() => create.mutate({ name, sourceId }, { onSuccess: close })}
      loading={create.isPending}
      disabled={sourceId === ''}
    >
      <TextInput
        label="Name"
        placeholder={example}
        description="Receivers see it in snake_case. You cannot rename it later."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fieldError(error, '/name')}
        data-autofocus
      />
      <Loaded query={query}>
        {(sources) =>
          sources.length === 0 ? (
            <Text size="sm">Create a source first. The identify calls are sent on its behalf.</Text>
          ) : (
            <NativeSelect
              label="Source"
              description="The identify calls are sent on behalf of this source, to its destinations."
              value={sourceId}
              onChange={(event) => setChosen(event.currentTarget.value)}
              data={sources.map((source) => ({ value: source.id, label: visible(source.name) }))}
              error={fieldError(error, '/sourceId')}
            />
          )
        }
      </Loaded>
    </CreateDialog>
  )
}
