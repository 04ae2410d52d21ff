import { Group, Loader, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useReducer } from 'react'
import { api, resultOf } from '../../api/client/client.ts'
import type { Intake } from '../../api/health.ts'
import {
  type Freshness,
  type Latest,
  NO_VALUES,
  receive,
  type StreamEvent,
} from '../../api/stream/freshness.ts'
import { useStream } from '../../api/stream/use-stream.ts'
import { Page } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamBadge } from '../../ui/stream-status.tsx'
import { Figure } from '../../ui/values/figure.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { formatDuration, formatInteger, formatRate } from '../../wording/format.ts'
import { IngestChart, LagChart } from './charts.tsx'
import { groupsOf, statusLabel, worstOf } from './consumer-groups.ts'
import { GroupList } from './group-list.tsx'
import { historyOf, type LagMoment, type LagSnapshot, withSnapshot } from './history.ts'
import { LogFaults } from './log-faults.tsx'

export default function Lag() {
  const {
    values: { lag: last, ingest },
    history,
    freshness,
  } = useLag()
  const groups = groupsOf(last?.items ?? [], last?.blocked)
  const worst = worstOf(groups)
  const isMissing = (last?.missing ?? []).length > 0
  const longest = Math.max(0, ...groups.map(({ seconds }) => seconds ?? 0))
  const rungs = groups.find(({ group }) => group === 'deliverer.rungs')
  return (
    <Page
      title="Lag"
      lead="How far each consumer group is behind. Lag is measured from outside every two seconds, so it also shows groups that have stopped."
      beside={<StreamBadge freshness={freshness} />}
    >
      <StreamAlert freshness={freshness} />
      {last ? (
        <Stack>
          <LogFaults faults={last.faults} />
          <SimpleGrid cols={{ base: 2, sm: 3, md: 5 }}>
            <Figure label="Worst state" isBad={isMissing || worst === 'stop' || worst === 'stall'}>
              {isMissing ? 'Topic missing' : worst ? statusLabel(worst).label : '–'}
            </Figure>
            <Figure label="Longest lag">{formatDuration(longest * 1_000)}</Figure>
            <Figure label="Retries overdue by">{formatDuration((rungs?.seconds ?? 0) * 1_000)}</Figure>
            <Figure label="Calls/s">{ingest ? formatRate(ingest.perSecond) : '–'}</Figure>
            <Figure label="Rejected calls/s">{ingest ? formatRate(ingest.rejectedPerSecond) : '–'}</Figure>
          </SimpleGrid>
          <GroupList groups={groups} />
          <LagChart history={history} />
          {ingest && <IngestChart ingest={ingest} />}
          <Text size="xs" c="dimmed">
            {formatInteger(last.items.length)} partitions, as of <Timestamp at={last.at} short />.
          </Text>
        </Stack>
      ) : (
        <Group role="status">
          <Loader size="sm" aria-hidden="true" />
          <Text size="sm">Loading…</Text>
        </Group>
      )}
    </Page>
  )
}

type LagState = Latest<{ lag: LagSnapshot; ingest: Intake }> & { history: readonly LagMoment[] }

const reduce = (state: LagState, event: StreamEvent): LagState => ({
  ...receive(state, event),
  // in the form of GET /api/lag
  history: event.name === 'lag' ? withSnapshot(state.history, event.data as LagSnapshot) : state.history,
})

function useLag(): LagState & { freshness: Freshness } {
  const [state, dispatch] = useReducer(reduce, { ...NO_VALUES, history: [] })
  const stream = useStream('/api/lag/stream', (name, data) =>
    dispatch({ name, data, at: new Date().toISOString() }),
  )
  const hour = useQuery({
    queryKey: ['lag', 'hour'],
    queryFn: () => resultOf(api.GET('/api/lag/hour')),
    // the stream has everything newer
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const history = useMemo(() => historyOf(hour.data?.items ?? [], state.history), [hour.data, state.history])
  const { unavailable, updatedAt } = state
  return {
    ...state,
    history,
    freshness: { state: stream, isUnavailable: unavailable.includes('lag'), updatedAt },
  }
}
