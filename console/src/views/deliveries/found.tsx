import { Button, Group, Loader, Stack, Text } from '@mantine/core'
import { type Search, useEvents } from '../../api/events.ts'
import { Empty } from '../../parts/empty.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { When } from '../../parts/when.tsx'
import { EventCard } from './event-card.tsx'

export function Found({ search }: { search: Search | undefined }) {
  const query = useEvents(search)
  if (search === undefined)
    return (
      <Empty icon="search" title="Which event?">
        The message id is in the call, and in the header X-Message-Id of each webhook; live calls and dead
        letters lead here as well. With a user id you get that user’s events, newest first.
      </Empty>
    )
  const pages = query.data?.pages ?? []
  const items = pages.flatMap((page) => page.items)
  const since = pages.at(-1)?.searchedSince ?? null
  return (
    <Stack>
      <Refusal error={query.error} title="The search failed" />
      {items.map((event) => (
        <EventCard key={`${event.sourceId} ${event.messageId} ${event.receivedAt}`} event={event} />
      ))}
      {query.isFetching && items.length === 0 && (
        <Group role="status">
          <Loader size="sm" aria-hidden="true" />
          <Text size="sm">Searching what came in, newest first ...</Text>
        </Group>
      )}
      {!query.isFetching && query.data && items.length === 0 && (
        <Empty icon="search" title={query.hasNextPage ? 'Not found so far' : 'There is no such event'}>
          {query.hasNextPage
            ? 'Nothing so far; older events can be searched as well.'
            : 'Sluice has not kept such a call. A call that its client library has not sent yet, that was answered with 401 or 429, or that is older than seven days, is not here.'}
        </Empty>
      )}
      {query.data && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed" role="status">
            {since === null ? (
              'All events that are kept have been searched.'
            ) : (
              <>
                Searched back to <When at={since} />.
              </>
            )}
          </Text>
          {query.hasNextPage && (
            <Button
              variant="default"
              onClick={() => query.fetchNextPage()}
              loading={query.isFetchingNextPage}
            >
              Search older ones
            </Button>
          )}
        </Group>
      )}
    </Stack>
  )
}
