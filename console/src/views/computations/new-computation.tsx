import { NativeSelect, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { fieldError, withoutCorrected } from '../../api/client/errors.ts'
import { type Kind, useCreateComputation } from '../../api/computations.ts'
import { type Source, useSources } from '../../api/sources.ts'
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
        {(sources) => (
          <SourceField
            sources={sources}
            value={sourceId}
            onChange={setChosen}
            error={fieldError(error, '/sourceId')}
          />
        )}
      </Loaded>
    </CreateDialog>
  )
}

type SourceProps = {
  sources: readonly Source[]
  value: string
  onChange: (sourceId: string) => void
  error: string | undefined
}

function SourceField({ sources, value, onChange, error }: SourceProps) {
  if (sources.length === 0)
    return <Text size="sm">Create a source first. The identify calls are sent on its behalf.</Text>
  return (
    <NativeSelect
      label="Source"
      description="The identify calls are sent on behalf of this source, to its destinations."
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={sources.map(({ id, name }) => ({ value: id, label: visible(name) }))}
      error={error}
    />
  )
}
