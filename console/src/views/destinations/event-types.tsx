import { Checkbox, Group, Radio, Stack } from '@mantine/core'
import type { EventType } from '../../api/destinations.ts'

const TYPES: readonly EventType[] = ['identify', 'track', 'page', 'screen', 'group', 'alias', 'delete']

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
        onChange={(which) => onChange(which === 'all' ? undefined : [...TYPES])}
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
          onChange={(types) => onChange(TYPES.filter((type) => types.includes(type)))}
          error={error}
        >
          <Group>
            {TYPES.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
    </Stack>
  )
}
