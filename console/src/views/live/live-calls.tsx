import { Box, Button, Group, SegmentedControl, Text } from '@mantine/core'
import { useState } from 'react'
import { Empty } from '../../ui/layout/empty.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { StreamAlert, StreamMark } from '../../ui/stream-status.tsx'
import { whole } from '../../wording/format.ts'
import { LiveRow } from './live-row.tsx'
import { useLiveCalls } from './use-live-calls.ts'

type Filter = 'all' | 'call' | 'rejected'

/** The live debugger: the last calls of a source, what was wrong with them, and what became of each. */
export function LiveCalls({ sourceId }: { sourceId: string }) {
  const { rows, opened, isReady, skipped, waiting, state, pause, toggle } = useLiveCalls(sourceId)
  const [filter, setFilter] = useState<Filter>('all')
  const shown = rows.filter(({ kind }) => filter === 'all' || filter === kind)
  const freshness = { state, isAway: false, toldAt: undefined }
  const fresh = waiting?.filter(({ name }) => name === 'call' || name === 'rejected').length ?? 0
  return (
    <Panel
      title="Live calls"
      lead="The last calls, as they come in, and what became of each. Choose one to see all of it."
      actions={
        <Group gap="sm">
          <SegmentedControl
            size="xs"
            aria-label="Which calls"
            value={filter}
            onChange={setFilter}
            data={[
              { value: 'all', label: 'All' },
              { value: 'call', label: 'Accepted' },
              { value: 'rejected', label: 'Rejected' },
            ]}
          />
          <Button size="compact-sm" variant="default" onClick={pause} aria-pressed={waiting !== undefined}>
            {waiting ? `Go on (${whole(fresh)} new)` : 'Pause'}
          </Button>
          <StreamMark freshness={freshness} />
        </Group>
      }
    >
      <StreamAlert freshness={freshness} />
      {shown.length === 0 && isReady && (
        <Empty icon="sources" title={rows.length === 0 ? 'No call yet' : 'None of these'}>
          {rows.length === 0
            ? 'Send one with a snippet above, or with “Send a test call”: it shows here at once.'
            : 'Calls of the other kind are there: choose “All”.'}
        </Empty>
      )}
      {!isReady && rows.length === 0 && (
        <Text c="dimmed" size="sm" role="status">
          Looking for the last calls ...
        </Text>
      )}
      {skipped > 0 && (
        <Text c="dimmed" size="sm" mb="xs">
          {whole(skipped)} more were not shown, as they came faster than one can read.
        </Text>
      )}
      <Box component="ul" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Calls, newest first">
        {shown.map((row) => (
          <LiveRow key={row.id} row={row} isOpened={opened.has(row.id)} onToggle={toggle} />
        ))}
      </Box>
    </Panel>
  )
}
