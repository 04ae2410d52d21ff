import { Box, Button, Group, SegmentedControl, Text } from '@mantine/core'
import { useState } from 'react'
import { Empty } from '../../ui/layout/empty.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamBadge } from '../../ui/stream-status.tsx'
import { formatInteger } from '../../wording/format.ts'
import { newCalls } from './feed.ts'
import { LiveRow, MissedCalls } from './live-row.tsx'
import { useLiveCalls } from './use-live-calls.ts'

type Filter = 'all' | 'call' | 'rejected'
const FILTERS: { value: Filter; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'call', label: 'Accepted' },
  { value: 'rejected', label: 'Rejected' },
]

export function LiveCalls({ sourceId, hint }: { sourceId: string; hint: string }) {
  const { rows, opened, isReady, skipped, waiting, state, pause, toggle } = useLiveCalls(sourceId)
  const [filter, setFilter] = useState<Filter>('all')
  const shown = rows.filter(({ kind }) => filter === 'all' || kind === 'missed' || filter === kind)
  const freshness = { state, isUnavailable: false, updatedAt: undefined }
  return (
    <Panel
      title="Live calls"
      lead="Calls as they arrive, with the result of each delivery. Select a call for details."
      actions={
        <Group gap="sm">
          <SegmentedControl
            size="xs"
            aria-label="Filter calls"
            value={filter}
            onChange={setFilter}
            data={FILTERS}
          />
          <Button size="compact-sm" variant="default" onClick={pause} aria-pressed={waiting !== undefined}>
            {waiting ? `Resume list (${formatInteger(newCalls({ rows, waiting }))} new)` : 'Pause list'}
          </Button>
          <StreamBadge freshness={freshness} />
        </Group>
      }
    >
      <StreamAlert freshness={freshness} />
      {shown.length === 0 && isReady && (
        <Empty icon="sources" title={rows.length === 0 ? 'No calls yet' : 'No matching calls'}>
          {rows.length === 0 ? hint : 'There are other calls. Choose “All” to see them.'}
        </Empty>
      )}
      {!isReady && rows.length === 0 && <LoadingCalls />}
      {skipped > 0 && (
        <Text c="dimmed" size="sm" mb="xs">
          {formatInteger(skipped)} more calls were not shown because they arrived too fast.
        </Text>
      )}
      <Box component="ul" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Calls, newest first">
        {shown.map((row) =>
          row.kind === 'missed' ? (
            <MissedCalls key={row.id} row={row} sourceId={sourceId} />
          ) : (
            <LiveRow key={row.id} row={row} isOpened={opened.has(row.id)} onToggle={toggle} />
          ),
        )}
      </Box>
    </Panel>
  )
}

const LoadingCalls = () => (
  <Text c="dimmed" size="sm" role="status">
    Loading recent calls…
  </Text>
)
