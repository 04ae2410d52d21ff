import { Button, Collapse, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { FoundEvent } from '../../api/search.ts'
import { State } from '../../parts/badge.tsx'
import { Json } from '../../parts/json.tsx'
import { SourceName } from '../../parts/names.tsx'
import { When } from '../../parts/when.tsx'
import { FateBox } from './fate-box.tsx'

/** One call: what came of it at the door, and then at each destination. */
export function EventCard({ event }: { event: FoundEvent }) {
  const [opened, { toggle }] = useDisclosure()
  const { rejected, destinations } = event
  return (
    <Paper withBorder p="md" component="article">
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={2} size="h4" className="in-flow">
            {event.type ?? 'call'}
            {(event.event ?? event.name) !== null && ` “${event.event ?? event.name}”`}
          </Title>
          <Text size="sm" c="dimmed" className="in-flow">
            {event.userId ?? event.anonymousId ?? 'nobody named'} from <SourceName id={event.sourceId} />,
            came in <When at={event.receivedAt} />
          </Text>
          <Text size="xs" c="dimmed" ff="monospace" className="in-flow">
            {event.messageId}
          </Text>
        </div>
        <Group gap="xs">
          {rejected ? <State label="Rejected" color="red" /> : <State label="Accepted" color="green" />}
          <Button variant="default" size="compact-sm" onClick={toggle} aria-expanded={opened}>
            {opened ? 'Hide the call' : 'Show the call'}
          </Button>
        </Group>
      </Group>
      <Collapse expanded={opened}>{opened && <Json value={event.call} label="The call" />}</Collapse>
      {rejected && (
        <Text size="sm" mt="sm">
          {rejected.message} <b>({rejected.code})</b>. It was kept for you to see here, and sent nowhere:
          correct the call, and send it again.
        </Text>
      )}
      {!rejected && destinations.length === 0 && (
        <Text size="sm" mt="sm">
          No destination is connected to the source <SourceName id={event.sourceId} />: it is kept, and was
          sent nowhere. Set up Webhooks for this source, and replay it.
        </Text>
      )}
      {destinations.length > 0 && (
        <Stack gap="sm" mt="sm">
          {destinations.map((fate) => (
            <FateBox key={fate.destinationId} fate={fate} messageId={event.messageId} />
          ))}
        </Stack>
      )}
    </Paper>
  )
}
