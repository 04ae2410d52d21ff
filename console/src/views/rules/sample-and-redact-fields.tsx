import { Alert, Checkbox, Fieldset, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { faultsWithin } from '../../api/client/errors.ts'
import type { FieldsProps } from '../../ui/form/draft.tsx'
import { AddButton, useLimitedList } from '../../ui/form/limited-list.tsx'
import { PathField } from './condition-fields.tsx'
import {
  MAX_REDACTIONS,
  newRedaction,
  REDACTIONS,
  type RedactionDraft,
  type RulesDraft,
  redactionPointer,
  type SampleDraft,
} from './draft.ts'

export function SampleFields({ draft: { sample }, change, error }: FieldsProps<RulesDraft>) {
  const changeSample = (changed: Partial<SampleDraft>) =>
    sample && change({ sample: { ...sample, ...changed } })
  return (
    <Fieldset legend="Sample" variant="filled">
      <Checkbox
        label="Send only a share of the events"
        checked={sample !== undefined}
        onChange={(event) =>
          change({ sample: event.currentTarget.checked ? { percent: '10', by: 'user' } : undefined })
        }
      />
      {sample && (
        <Group mt="sm" gap="sm" align="flex-start">
          <TextInput
            label="Percent"
            w={110}
            inputMode="decimal"
            value={sample.percent}
            onChange={(event) => changeSample({ percent: event.currentTarget.value })}
            error={faultsWithin(error, '/rules/sample')[0]?.message}
            autoComplete="off"
          />
          <NativeSelect
            label="Sample by"
            value={sample.by}
            onChange={(event) =>
              changeSample({ by: event.currentTarget.value === 'event' ? 'event' : 'user' })
            }
            data={[
              { value: 'user', label: 'User: all events of a user or none' },
              { value: 'event', label: 'Event: each event independently' },
            ]}
          />
        </Group>
      )}
    </Fieldset>
  )
}

const METHODS: Record<RedactionDraft['as'], string> = {
  drop: 'Drop: remove the value',
  hash: 'Hash: equal values, equal hashes',
  mask: 'Mask: show asterisks',
  truncate: 'Truncate: keep the beginning',
}

export function RedactFields({ draft, change, error }: FieldsProps<RulesDraft>) {
  const list = useLimitedList({
    items: draft.redact,
    most: MAX_REDACTIONS,
    make: newRedaction,
    onChange: (redact: readonly RedactionDraft[]) => change({ redact }),
  })
  return (
    <Fieldset legend="Redact" variant="filled">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Hides personal data in what is sent and in what is stored about the delivery. The event itself stays
          stored as received.
        </Text>
        {draft.redact.map((row, at) => (
          <Redaction
            key={row.key}
            row={row}
            which={`redaction ${at + 1}`}
            onChange={(changed) => list.change(row.key, changed)}
            error={faultsWithin(error, redactionPointer(draft, row.key))[0]?.message}
          />
        ))}
        <AddButton list={list}>Add field</AddButton>
        {list.isTooMany && (
          <Alert color="yellow" role="alert" title={`Rules can redact up to ${MAX_REDACTIONS} fields`}>
            To hide more, drop the object that contains them, such as <code>traits</code>.
          </Alert>
        )}
      </Stack>
    </Fieldset>
  )
}

type RedactionProps = {
  row: RedactionDraft
  which: string
  /** Undefined removes it. */
  onChange: (row: RedactionDraft | undefined) => void
  error: string | undefined
}

function Redaction({ row, which, onChange, error }: RedactionProps) {
  return (
    <Stack gap={4}>
      <PathField
        label={`Path of ${which}`}
        path={row.path}
        onChange={(path) => onChange({ ...row, path })}
        onRemove={() => onChange(undefined)}
        error={error}
      />
      <NativeSelect
        aria-label={`Method of ${which}`}
        value={row.as}
        onChange={(event) => {
          const as = REDACTIONS.find((one) => one === event.currentTarget.value)
          if (as) onChange({ ...row, as })
        }}
        data={REDACTIONS.map((value) => ({ value, label: METHODS[value] }))}
      />
    </Stack>
  )
}
