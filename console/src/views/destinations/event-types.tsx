import { Checkbox, Group, Radio, Stack } from '@mantine/core'
import { EVENT_TYPES, type EventType } from '../../api/destinations.ts'

/** @param chosen undefined: all types, also such as there may be later. */
export function EventTypes({
  chosen,
  onChange,
  error,
}: {
  chosen: EventType[] | undefined
  onChange: (types: EventType[] | undefined) => void
  error: string | undefined
}) {
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Events"
        value={chosen ? 'some' : 'all'}
        onChange={(which) => onChange(which === 'all' ? undefined : [...EVENT_TYPES])}
      >
        <Group mt={6}>
          <Radio value="all" label="All types" />
          <Radio value="some" label="These types only" />
        </Group>
      </Radio.Group>
      {chosen && (
        <Checkbox.Group
          aria-label="Types of events"
          value={chosen}
          onChange={(types) => onChange(EVENT_TYPES.filter((type) => types.includes(type)))}
          error={error}
        >
          <Group>
            {EVENT_TYPES.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
    </Stack>
  )
}
