import { Alert, Button, Checkbox, Fieldset, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { faultsWithin } from '../../api/client/errors.ts'
import { EVENT_TYPES } from '../../api/destinations.ts'
import type { FieldsProps } from '../../ui/form/draft.tsx'
import { AddButton, useLimitedList } from '../../ui/form/limited-list.tsx'
import { conditionWords } from '../../wording/conditions.ts'
import { ConditionFields } from './condition-fields.tsx'
import { conditionPointer, type RulesDraft } from './draft.ts'
import { EventNames } from './event-names.tsx'
import { type ConditionDraft, type FilterDraft, MAX_CONDITIONS, newCondition } from './filter.ts'

type FilterFieldsProps = FieldsProps<RulesDraft> & {
  /** Of recent events. */
  seenNames: readonly string[]
}

export function FilterFields({ draft, change, error, seenNames }: FilterFieldsProps) {
  const { filter, otherFilter } = draft
  const changeFilter = (changed: Partial<FilterDraft>) => change({ filter: { ...filter, ...changed } })
  if (otherFilter !== undefined)
    return <OtherFilter filter={otherFilter} onRemove={() => change({ otherFilter: undefined })} />
  return (
    <Fieldset legend="Filter" variant="filled">
      <Stack>
        <EventNames
          names={filter.eventNames}
          seen={seenNames}
          onChange={(eventNames) => changeFilter({ eventNames })}
          error={faultsWithin(error, conditionPointer(draft, 'eventNames'))[0]?.message}
        />
        <Checkbox.Group
          label="Event types"
          description="Select none to send all. User deletions are always sent."
          value={[...filter.types]}
          onChange={(types) => changeFilter({ types: EVENT_TYPES.filter((type) => types.includes(type)) })}
          error={faultsWithin(error, conditionPointer(draft, 'types'))[0]?.message}
        >
          <Group mt={6} gap="sm">
            {EVENT_TYPES.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </Group>
        </Checkbox.Group>
        <Conditions draft={draft} change={changeFilter} error={error} />
      </Stack>
    </Fieldset>
  )
}

function OtherFilter({ filter, onRemove }: { filter: unknown; onRemove: () => void }) {
  return (
    <Fieldset legend="Filter" variant="filled">
      <Text size="sm" className="in-flow">
        Sends an event if {conditionWords(filter)}.
      </Text>
      <Text size="sm" c="dimmed" my="xs">
        The form cannot change this filter. Edit it as JSON, or remove it to start over.
      </Text>
      <Button variant="default" size="compact-sm" onClick={onRemove}>
        Remove this filter
      </Button>
    </Fieldset>
  )
}

type ConditionsProps = Omit<FieldsProps<RulesDraft>, 'change'> & {
  change: (changed: Partial<FilterDraft>) => void
}

function Conditions({ draft, change, error }: ConditionsProps) {
  const { conditions, match } = draft.filter
  const list = useLimitedList({
    items: conditions,
    most: MAX_CONDITIONS,
    make: newCondition,
    onChange: (conditions: readonly ConditionDraft[]) => change({ conditions }),
  })
  return (
    <Stack gap="sm" role="group" aria-label="Conditions">
      {conditions.length > 1 && (
        <NativeSelect
          label="An event must meet"
          value={match}
          onChange={(event) => change({ match: event.currentTarget.value === 'any' ? 'any' : 'all' })}
          data={[
            { value: 'all', label: 'All of these conditions' },
            { value: 'any', label: 'At least one of these conditions' },
          ]}
        />
      )}
      {conditions.map((condition, at) => (
        <ConditionFields
          key={condition.key}
          condition={condition}
          which={`condition ${at + 1}`}
          pointer={conditionPointer(draft, condition.key)}
          onChange={(changed) => list.change(condition.key, changed)}
          error={error}
        />
      ))}
      <AddButton list={list}>Add condition</AddButton>
      {list.isTooMany && (
        <Alert color="yellow" role="alert" title={`A filter can have up to ${MAX_CONDITIONS} conditions`}>
          To compare one field with many values, use “is one of”.
        </Alert>
      )}
    </Stack>
  )
}
