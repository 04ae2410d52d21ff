import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { fieldError } from '../../api/client/errors.ts'

export type Change<Draft> = (changed: Partial<Draft>) => void

export function useDraft<Draft>(start: () => Draft): readonly [Draft, Change<Draft>] {
  const [draft, setDraft] = useState(start)
  return [draft, (changed) => setDraft((before) => ({ ...before, ...changed }))]
}

export type FieldsProps<Draft> = { draft: Draft; change: Change<Draft>; error: unknown }

type NameProps = { value: string; change: Change<{ name: string }>; error: unknown; description?: string }

export function NameField({ value, change, error, description }: NameProps) {
  return (
    <TextInput
      label="Name"
      description={description}
      value={value}
      onChange={(event) => change({ name: event.currentTarget.value })}
      error={fieldError(error, '/name')}
      maw={420}
    />
  )
}
