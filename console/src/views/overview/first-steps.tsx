import { Button, Paper, Text, ThemeIcon, Timeline, Title } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../api/destinations.ts'
import { Icon } from '../../ui/layout/icon.tsx'
import { MayManage } from '../../ui/may-manage.tsx'
import { visible } from '../../wording/visible.ts'
import { SET_UP_LABEL, setUpPath } from '../destinations/set-up-progress.ts'

type StepsProps = {
  hasSource: boolean
  /** The only destination, if its set-up is unfinished. */
  unfinished: Destination | undefined
}

export function FirstSteps({ hasSource, unfinished }: StepsProps) {
  return (
    <Paper withBorder p="xl" maw={720}>
      <Title order={2} size="h3" mb={4}>
        Send your first event
      </Title>
      <Text c="dimmed" mb="lg">
        Sluice receives calls from your sources and forwards them to your webhooks.
      </Text>
      <Timeline active={hasSource ? 0 : -1} bulletSize={28} lineWidth={2} mb="lg">
        <Timeline.Item
          title="A source"
          bullet={<Mark of={hasSource ? 'check' : 'sources'} isDone={hasSource} />}
        >
          <Text size="sm" c="dimmed">
            Sends calls with its own write key. {hasSource && 'You have one.'}
          </Text>
        </Timeline.Item>
        <Timeline.Item title="A destination" bullet={<Mark of="destinations" />}>
          <Text size="sm" c="dimmed">
            Up to five URLs with headers and a signing secret. Send a test before you turn it on.{' '}
            {unfinished && visible(`${unfinished.name} is saved but still off.`)}
          </Text>
        </Timeline.Item>
        <Timeline.Item title="The first event" bullet={<Mark of="overview" />}>
          <Text size="sm" c="dimmed">
            Watch it arrive and get delivered, live.
          </Text>
        </Timeline.Item>
      </Timeline>
      <MayManage what="all">
        <Button component={Link} to={unfinished ? setUpPath(unfinished) : '/catalog/webhooks'} size="md">
          {unfinished ? SET_UP_LABEL : 'Set up Webhooks'}
        </Button>
      </MayManage>
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
