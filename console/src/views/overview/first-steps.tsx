import { Button, Paper, Text, ThemeIcon, Timeline, Title } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import { ForAdmin } from '../../ui/for-admin.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { goOnWith, setUpOf } from '../destinations/set-up-progress.ts'

type StepsParts = {
  hasSource: boolean
  /** The only destination, where its set-up was left before its end. */
  left: Destination | undefined
}

/** An empty system: what to do first. */
export function FirstSteps({ hasSource, left }: StepsParts) {
  return (
    <Paper withBorder p="xl" maw={720}>
      <Title order={2} size="h3" mb={4}>
        Send your first event
      </Title>
      <Text c="dimmed" mb="lg">
        Sluice takes calls from your sources, and forwards each to your webhooks.
      </Text>
      <Timeline active={hasSource ? 0 : -1} bulletSize={28} lineWidth={2} mb="lg">
        <Timeline.Item
          title="A source"
          bullet={<Mark of={hasSource ? 'check' : 'sources'} isDone={hasSource} />}
        >
          <Text size="sm" c="dimmed">
            What sends the calls, with a write key of its own. {hasSource && 'There is one.'}
          </Text>
        </Timeline.Item>
        <Timeline.Item title="A destination" bullet={<Mark of="destinations" />}>
          <Text size="sm" c="dimmed">
            Up to five URLs, headers, and a secret to sign with; tried with a test before it is turned on.{' '}
            {left && `${left.name} is saved, and still off.`}
          </Text>
        </Timeline.Item>
        <Timeline.Item title="The first event" bullet={<Mark of="overview" />}>
          <Text size="sm" c="dimmed">
            You see it come in and arrive, live.
          </Text>
        </Timeline.Item>
      </Timeline>
      <ForAdmin>
        <Button component={Link} to={left ? setUpOf(left) : '/catalog/webhooks'} size="md">
          {left ? goOnWith(left) : 'Set up Webhooks'}
        </Button>
      </ForAdmin>
    </Paper>
  )
}

function Mark({
  of,
  isDone = false,
}: {
  of: 'check' | 'sources' | 'destinations' | 'overview'
  isDone?: boolean
}) {
  return (
    <ThemeIcon size={26} radius="xl" variant={isDone ? 'filled' : 'light'} color={isDone ? 'green' : 'water'}>
      <Icon of={of} size={14} />
    </ThemeIcon>
  )
}
