import { Button, Collapse, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import {
  eventKey,
  type FoundEvent,
  type Search,
  stopSearch,
  useEvents,
  useUpdated,
} from '../../api/events.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { SearchedSince, Searching, useSearchProgress } from '../../ui/search-progress.tsx'
import { Json } from '../../ui/values/code.tsx'
import { SourceName, useDestinationNames } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { LIMITS } from '../../wording/limits.ts'
import { CALL_STATES } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'
import { LogFaults } from '../lag/log-faults.tsx'
import { DeliveryCard } from './delivery.tsx'

export function SearchResults({ search }: { search: Search }) {
  const query = useEvents(search)
  const { data, isFetching, error } = query
  const items = useUpdated((data?.pages ?? []).flatMap((page) => page.items))
  const { isSearching, hasMore, stop, resume } = useSearchProgress(query, { isFound: items.length > 0 })
  // faults reach back to a page's oldest call, so the longest list has all
  const [faults = []] = (data?.pages ?? []).map((page) => page.faults).toSorted((a, b) => b.length - a.length)
  const isMissing = items.length === 0 && !isSearching

  function stopNow() {
    stop()
    stopSearch(search)
  }
  return (
    <Stack>
      <ErrorAlert error={error} title="Search failed" />
      <LogFaults faults={faults.filter(({ topic }) => isMissing || topic !== 'events')} />
      {items.map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls of one batch that was rejected as a whole are alike
        <EventCard key={`${eventKey(event)} ${index}`} event={event} />
      ))}
      {isSearching && items.length === 0 && <Searching onStop={stopNow} />}
      {isMissing && !error && (
        <Empty icon="search" title={hasMore ? 'Not found yet' : 'No such event'}>
          {hasMore
            ? 'Older events have not been searched yet.'
            : `Sluice has no such call${search.around === undefined ? '' : ' from that time'}. A search does not look into properties, such as an order number: search for the user or the event name instead. It also does not find calls that the client library has not sent yet, that were answered with 401, 403, 413 or 429, that belong to suppressed users, ${LIMITS.olderEvents}.`}
        </Empty>
      )}
      <Group justify="space-between">
        {data && (
          <Text size="sm" c="dimmed">
            <SearchedSince at={data.pages.at(-1)?.searchedSince ?? null} />
          </Text>
        )}
        {hasMore && (items.length > 0 || !isSearching) && (
          <Button variant="default" onClick={resume} loading={isFetching}>
            Search older events
          </Button>
        )}
      </Group>
    </Stack>
  )
}

function EventCard({ event }: { event: FoundEvent }) {
  const [opened, { toggle }] = useDisclosure()
  const { rejected, destinations } = event
  return (
    <Paper withBorder p="md" component="article">
      <Group justify="space-between" align="flex-start">
        <EventHeading event={event} />
        <Group gap="xs">
          <StateBadge {...(rejected ? CALL_STATES.rejected : CALL_STATES.accepted)} />
          <Button variant="default" size="compact-sm" onClick={toggle} aria-expanded={opened}>
            {opened ? 'Hide call' : 'Show call'}
          </Button>
        </Group>
      </Group>
      <Collapse expanded={opened}>{opened && <Json value={event.call} label="Call" />}</Collapse>
      {rejected && (
        <Text size="sm" mt="sm">
          {rejected.message} <b>({rejected.code})</b>. The call was stored but not forwarded. Correct it and
          send it again.
        </Text>
      )}
      {!rejected && destinations.length === 0 && (
        <Text size="sm" mt="sm">
          No destination is connected to the source <SourceName id={event.sourceId} />, so the event was
          stored but not forwarded. Set up Webhooks for this source, then replay the event.
        </Text>
      )}
      {destinations.length > 0 && <Deliveries event={event} />}
    </Paper>
  )
}

const EventHeading = ({ event }: { event: FoundEvent }) => (
  <div>
    <Title order={2} size="h4" className="in-flow">
      {event.type ?? 'call'}
      {(event.event ?? event.name) !== null && visible(` “${event.event ?? event.name}”`)}
    </Title>
    <Text size="sm" c="dimmed" className="in-flow">
      {visible(event.userId ?? event.anonymousId ?? 'No user')} from <SourceName id={event.sourceId} />,
      received <Timestamp at={event.receivedAt} />
    </Text>
    <Text size="xs" c="dimmed" ff="monospace" className="in-flow">
      {visible(event.messageId ?? '')}
    </Text>
  </div>
)

function Deliveries({ event }: { event: FoundEvent }) {
  const nameOf = useDestinationNames()
  return (
    <Stack gap="sm" mt="sm">
      <FilteredList
        all={event.destinations}
        what="destinations"
        textOf={({ destinationId, state }) => `${nameOf(destinationId)} ${destinationId} ${state}`}
      >
        {(shown) =>
          shown.map((delivery) => (
            <DeliveryCard key={delivery.destinationId} delivery={delivery} event={event} />
          ))
        }
      </FilteredList>
    </Stack>
  )
}
