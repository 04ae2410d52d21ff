import { Group, Loader, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useReducer } from 'react'
import { answered, api } from '../../api/client.ts'
import type { Intake } from '../../api/health.ts'
import { type Freshness, type Heard, heard, type Message, NOTHING } from '../../api/stream/freshness.ts'
import { useStream } from '../../api/stream/use-stream.ts'
import { Page } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamMark } from '../../ui/stream-status.tsx'
import { Figure } from '../../ui/values/figure.tsx'
import { When } from '../../ui/values/when.tsx'
import { duration, rate, whole } from '../../wording/format.ts'
import { IngestChart, LagChart } from './charts.tsx'
import { groupsOf, statusOf, worstOf } from './consumer-groups.ts'
import { Groups } from './group-list.tsx'
import { type Look, type Past, pastOf, withLook } from './history.ts'
import { LogFaults } from './log-faults.tsx'

/** For who is on call: is everything being worked on, and how far behind is it? */
export default function Lag() {
  const {
    told: { lag: last, ingest },
    past,
    freshness,
  } = useLag()
  const groups = groupsOf(last?.items ?? [])
  const worst = worstOf(groups)
  const late = Math.max(0, ...groups.map(({ seconds }) => seconds ?? 0))
  const rungs = groups.find(({ group }) => group === 'deliverer.rungs')
  return (
    <Page
      title="Lag"
      lead="How far each consumer group is behind, looked at every two seconds from outside, so that a dead one shows."
      beside={<StreamMark freshness={freshness} />}
    >
      <StreamAlert freshness={freshness} />
      {last ? (
        <Stack>
          <LogFaults faults={last.faults} />
          <SimpleGrid cols={{ base: 2, sm: 3, md: 5 }}>
            <Figure label="State of the worst" isBad={worst === 'stop' || worst === 'stall'}>
              {worst ? statusOf(worst).label : '–'}
            </Figure>
            <Figure label="Longest wait">{duration(late * 1_000)}</Figure>
            <Figure label="Retries late by">{duration((rungs?.seconds ?? 0) * 1_000)}</Figure>
            <Figure label="Calls in, a second">{ingest ? rate(ingest.perSecond) : '–'}</Figure>
            <Figure label="Rejected and kept, a second">
              {ingest ? rate(ingest.rejectedPerSecond) : '–'}
            </Figure>
          </SimpleGrid>
          <Groups groups={groups} />
          <LagChart past={past} />
          {ingest && <IngestChart ingest={ingest} />}
          <Text size="xs" c="dimmed">
            {whole(last.items.length)} partitions, as of <When at={last.at} short />.
          </Text>
        </Stack>
      ) : (
        <Group role="status">
          <Loader size="sm" aria-hidden="true" />
          <Text size="sm">Waiting for the first look ...</Text>
        </Group>
      )}
    </Page>
  )
}

type Told = Heard<{ lag: Look; ingest: Intake }> & { past: readonly Past[] }

const after = (before: Told, message: Message): Told => ({
  ...heard(before, message),
  // as the API describes the same at GET /api/lag
  past: message.name === 'lag' ? withLook(before.past, message.data as Look) : before.past,
})

/** How far each group is behind and what comes in, as it goes on. `past`: since an hour before the page was opened. */
export function useLag(): Told & { freshness: Freshness } {
  const [told, tell] = useReducer(after, { ...NOTHING, past: [] })
  const state = useStream('/api/lag/stream', (name, data) =>
    tell({ name, data, at: new Date().toISOString() }),
  )
  const hour = useQuery({
    queryKey: ['lag', 'hour'],
    queryFn: () => answered(api.GET('/api/lag/hour')),
    // what comes then is told
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const past = useMemo(() => pastOf(hour.data?.items ?? [], told.past), [hour.data, told.past])
  return { ...told, past, freshness: { state, isAway: told.away.includes('lag'), toldAt: told.toldAt } }
}
