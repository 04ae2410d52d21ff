import { Group, SegmentedControl, Text, Title } from '@mantine/core'
import type { Activity, Window } from '../../api/activity.ts'
import { Timestamp } from '../values/time.tsx'
import { WINDOWS } from './window.ts'

type HeadingProps = {
  window: Window
  onChange: (window: Window) => void
  /** Undefined while loading. */
  activity: Pick<Activity, 'from' | 'since'> | undefined
}

export function WindowHeading({ window, onChange, activity }: HeadingProps) {
  const { from = null, since = null } = activity ?? {}
  return (
    <Group justify="space-between" gap="xs">
      <Group gap="xs" align="baseline">
        <Title order={2} size="h4">
          {WINDOWS[window].title}
        </Title>
        <Text size="sm" c="dimmed">
          {since === null ? (
            from !== null && (
              <>
                since <Timestamp at={from} short />
              </>
            )
          ) : (
            <>
              deliveries since <Timestamp at={since} short />; older ones are still being read
            </>
          )}
        </Text>
      </Group>
      <SegmentedControl
        size="xs"
        aria-label="Window"
        value={window}
        onChange={onChange}
        data={[
          { value: '1h', label: '1 h' },
          { value: '24h', label: '24 h' },
        ]}
      />
    </Group>
  )
}
