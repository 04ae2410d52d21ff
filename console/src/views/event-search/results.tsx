import { Button, Collapse, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect, useState } from 'react'
import {
  eventKey,
  type FoundEvent,
  type Search,
  stopSearch,
  useEvents,
  useRefreshed,
} from '../../api/events.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { Json } from '../../ui/values/code.tsx'
import { SourceName } from '../../ui/values/names.tsx'
import { State } from '../../ui/values/state-badge.tsx'
import { When } from '../../ui/values/when.tsx'
import { LogFaults } from '../lag/log-faults.tsx'
import { FateBox } from './delivery.tsx'

/** What was found; while nothing is, the search goes on by itself, further and further back. */
export function Found({ search }: { search: Search }) {
  const query = useEvents(search)
  const [isStopped, setStopped] = useState(false)
  const { data, hasNextPage, isFetching, error, fetchNextPage, refetch } = query
  const items = useRefreshed((data?.pages ?? []).flatMap((page) => page.items))
  const hasMore = hasNextPage || !data
  const goesOn = items.length === 0 && hasNextPage && !isStopped && !error
  const isSearching = isFetching || goesOn
  // the longest list has all: those of a page go back to its oldest call
  const [faults = []] = (data?.pages ?? []).map((page) => page.faults).toSorted((a, b) => b.length - a.length)
  const isMissing = items.length === 0 && !isSearching
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage()
  }, [goesOn, isFetching, fetchNextPage])

  function stop() {
    setStopped(true)
    stopSearch(search)
  }
  function goOn() {
    setStopped(false)
    void (data ? fetchNextPage() : refetch())
  }
  return (
    <Stack>
      <Refusal error={error} title="The search failed" />
      <LogFaults faults={faults.filter(({ topic }) => isMissing || topic !== 'events')} />
      {items.map((event, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls of one batch that was rejected as a whole are alike
        <EventCard key={`${eventKey(event)} ${index}`} event={event} />
      ))}
      {isSearching && items.length === 0 && (
        <Group>
          <Group role="status" gap="sm">
            <Loader size="sm" aria-hidden="true" />
            <Text size="sm">Searching what came in, newest first ...</Text>
          </Group>
          <Button variant="default" size="compact-sm" onClick={stop}>
            Stop
          </Button>
        </Group>
      )}
      {!isSearching && !error && items.length === 0 && (
        <Empty icon="search" title={hasMore ? 'Not found so far' : 'There is no such event'}>
          {hasMore
            ? 'Older events have not been searched.'
            : `Sluice has not kept such a call${search.around === undefined ? '' : ' of that time'}. A call that its client library has not sent yet, that was answered with 401 or 429, whose user is suppressed, or that is older than seven days, is not here.`}
        </Empty>
      )}
      <Group justify="space-between">
        {data && <SearchedSince at={data.pages.at(-1)?.searchedSince ?? null} />}
        {hasMore && (items.length > 0 || !isSearching) && (
          <Button variant="default" onClick={goOn} loading={isFetching}>
            Search older ones
          </Button>
        )}
      </Group>
    </Stack>
  )
}

function SearchedSince({ at }: { at: string | null }) {
  return (
    <Text size="sm" c="dimmed">
      {at === null ? (
        'All that was asked for has been searched.'
      ) : (
        <>
          Searched back to <When at={at} />.
        </>
      )}
    </Text>
  )
}

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
