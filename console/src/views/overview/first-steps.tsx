import { Button, Group, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import type { ReactNode } from 'react'
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
      <Stack component="ol" m={0} mb="lg" p={0} style={{ listStyle: 'none' }}>
        <Step title="A source" icon={hasSource ? 'check' : 'sources'} isDone={hasSource}>
          Sends calls with its own write key. {hasSource && 'You have one.'}
        </Step>
        <Step title="A destination" icon="destinations">
          Up to five URLs with headers and a signing secret. Send a test before you turn it on.{' '}
          {unfinished && visible(`${unfinished.name} is saved but still off.`)}
        </Step>
        <Step title="The first event" icon="overview">
          Watch it arrive and get delivered, live.
        </Step>
      </Stack>
      <MayManage what="all">
        <Button component={Link} to={unfinished ? setUpPath(unfinished) : '/catalog/webhooks'} size="md">
          {unfinished ? SET_UP_LABEL : 'Set up Webhooks'}
        </Button>
      </MayManage>
    </Paper>
  )
}

type StepProps = {
  title: string
  icon: 'check' | 'sources' | 'destinations' | 'overview'
  isDone?: boolean
  children: ReactNode
}

const Step = ({ title, icon, isDone = false, children }: StepProps) => (
  <Group component="li" gap="md" wrap="nowrap" align="flex-start">
    <ThemeIcon size={28} radius="xl" variant={isDone ? 'filled' : 'light'} color={isDone ? 'green' : 'water'}>
      <Icon of={icon} size={14} />
    </ThemeIcon>
    <div>
      <Text>{title}</Text>
      <Text size="sm" c="dimmed">
        {children}
      </Text>
    </div>
  </Group>
)
