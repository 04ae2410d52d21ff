import { Group, Loader, SimpleGrid, Stack, Text } from '@mantine/core'
import { Figure } from '../../parts/figure.tsx'
import { rate, whole } from '../../parts/number.ts'
import { Page } from '../../parts/page.tsx'
import { StreamAlert } from '../../parts/stream-alert.tsx'
import { StreamMark } from '../../parts/stream-mark.tsx'
import { duration } from '../../parts/time.ts'
import { When } from '../../parts/when.tsx'
import { groupsOf, worstOf } from './group.ts'
import { Groups } from './groups.tsx'
import { IngestChart } from './ingest-chart.tsx'
import { LagChart } from './lag-chart.tsx'
import { LogFaults } from './log-faults.tsx'
import { statusOf } from './status.ts'
import { useLag } from './use-lag.ts'

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
