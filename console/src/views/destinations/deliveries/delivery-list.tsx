import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import {
  collectDeliveries,
  type DeliveryFilter,
  type DeliveryList as List,
  MAX_ROWS,
  mergeDeliveries,
  refreshDeliveries,
  stopDeliveries,
  useDeliveries,
  useLatestDeliveries,
} from '../../../api/deliveries.ts'
import { useWorkspaceHealth } from '../../../api/health.ts'
import { useMayManage } from '../../../api/session.ts'
import { useStatus } from '../../../api/status.ts'
import { ErrorAlert } from '../../../ui/error-alert.tsx'
import { Empty } from '../../../ui/layout/empty.tsx'
import { Panel } from '../../../ui/layout/page.tsx'
import { SearchedSince, Searching, useSearchProgress } from '../../../ui/search-progress.tsx'
import { StateBadge } from '../../../ui/values/state-badge.tsx'
import { formatInteger, localTime, pluralize } from '../../../wording/format.ts'
import { type Prepared, ReplayButton } from '../../replays/replay-dead-letters.tsx'
import { requestsForDeliveries, resendable } from '../../replays/requests.ts'
import { DeliveryDrawer } from './delivery-drawer.tsx'
import { DeliveryTable } from './delivery-table.tsx'
import { useDeliveryParams } from './filter.ts'
import { FilterForm } from './filter-form.tsx'

export function DeliveryList({ destinationId }: { destinationId: string }) {
  const { filter, opened, setFilter, open } = useDeliveryParams()
  const [isLive, setLive] = useState(true)
  const [isResent, setResent] = useState(false)
  const [isTyping, setTyping] = useState(false)
  const mayManage = useMayManage('destinations')
  const list = { of: destinationId, filter }
  return (
    <Panel
      title="Deliveries"
      lead="Newest first, for three days. Select a delivery for its request, response and attempts."
      actions={
        <>
          {mayManage && (
            <ReplayButton
              kind="deliveries"
              label="Resend all matching"
              prepare={() => prepareResend(list)}
              disabled={isTyping}
              onStarted={() => {
                setLive(true)
                setResent(true)
              }}
            />
          )}
          <LiveBadge isLive={isLive} />
          <Button size="compact-sm" variant="default" aria-pressed={!isLive} onClick={() => setLive(!isLive)}>
            {isLive ? 'Pause list' : 'Resume list'}
          </Button>
        </>
      }
    >
      <Stack>
        {isResent && (
          <Text size="sm" role="status">
            The deliveries are being sent again. See the progress under{' '}
            <Anchor component={Link} to="/dead" size="sm">
              Dead letters
            </Anchor>
            .
          </Text>
        )}
        <FilterForm filter={filter} onFilter={setFilter} isTyping={isTyping} onTyping={setTyping} />
        <Found key={JSON.stringify(filter)} list={list} isLive={isLive} onOpen={open} />
      </Stack>
      <DeliveryDrawer id={opened} onClose={() => open(undefined)} />
    </Panel>
  )
}

function LiveBadge({ isLive }: { isLive: boolean }) {
  const [status, health] = [useStatus(), useWorkspaceHealth()]
  const isError = status.isError || health.isError
  if (!isLive) return <StateBadge label="List paused" color="gray" />
  return isError ? <StateBadge label="Outdated" color="red" /> : <StateBadge label="Live" color="green" />
}

async function prepareResend(list: List): Promise<Prepared> {
  const { entries, isComplete, searchedSince } = await collectDeliveries(list)
  const sent = resendable(entries)
  const skipped = entries.length - sent.length
  const notes = [
    skipped > 0 &&
      `${formatInteger(skipped)} others are skipped, because they are still being sent or are listed twice.`,
    !isComplete &&
      `These are the newest, back to ${searchedSince === null ? 'the oldest' : localTime(searchedSince)}. Older ones may match too. To include them, narrow the filter, or replay dead letters, which has no such limit.`,
  ]
  return {
    requests: requestsForDeliveries(sent),
    describe: () => pluralize(sent.length, 'delivery', 'deliveries'),
    note: notes.filter((note) => note !== false).join(' '),
  }
}

type FoundProps = { list: List; isLive: boolean; onOpen: (id: string) => void }

function Found({ list, isLive, onOpen }: FoundProps) {
  const query = useDeliveries(list)
  const { data, isFetching, error } = query
  const latest = useLatestDeliveries(list, isLive && data !== undefined)
  const pages = data?.pages ?? []
  const rows = mergeDeliveries(
    pages.flatMap(({ items }) => items),
    latest.items,
  )
  const isFound = rows.length > 0
  const { isSearching, hasMore, stop, resume } = useSearchProgress(query, { isFound })
  const unknown = pages.reduce((sum, page) => sum + page.unknown, 0)

  function stopNow() {
    stop()
    stopDeliveries(list)
  }

  return (
    <Stack gap="sm">
      <ErrorAlert error={error} title="The search failed" />
      {latest.isGap && (
        <Text size="sm" c="dimmed" role="status">
          Deliveries are made faster than this list can show them, so some are left out.{' '}
          <Button variant="subtle" size="compact-xs" onClick={() => void refreshDeliveries(list.of)}>
            Search again
          </Button>
        </Text>
      )}
      {isFound && <DeliveryTable rows={rows} onOpen={onOpen} />}
      {!isFound && isSearching && <Searching onStop={stopNow} />}
      {!isFound && !isSearching && !error && <NoneFound filter={list.filter} hasMore={hasMore} />}
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {pages.length > 0 && <SearchedSince at={pages.at(-1)?.searchedSince ?? null} />}
          {unknown > 0 &&
            ` Left out: ${pluralize(unknown, 'delivery', 'deliveries')} whose attempts are not known. Choose the state “Unknown” to see them.`}
          {rows.length >= MAX_ROWS && ` Showing the newest ${formatInteger(MAX_ROWS)}.`}
        </Text>
        {hasMore && (isFound || !isSearching) && rows.length < MAX_ROWS && (
          <Button variant="default" onClick={resume} loading={isFetching}>
            Search older deliveries
          </Button>
        )}
      </Group>
    </Stack>
  )
}

function NoneFound({ filter, hasMore }: { filter: DeliveryFilter; hasMore: boolean }) {
  if (hasMore)
    return (
      <Empty icon="search" title="Not found yet">
        Older deliveries have not been searched yet.
      </Empty>
    )
  if (Object.keys(filter).length > 0)
    return (
      <Empty icon="search" title="No matching deliveries">
        No delivery of the last three days matches the filter. Choose “Clear” to see all.
      </Empty>
    )
  return (
    <Empty icon="destinations" title="No deliveries yet">
      Deliveries appear here as soon as a connected source sends an event, and are listed for three days.
    </Empty>
  )
}
