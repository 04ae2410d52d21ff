import { Box, Button, Group, Loader, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { PREVIEWED, type Preview } from '../../../api/rules.ts'
import { ErrorAlert } from '../../../ui/error-alert.tsx'
import { Panel } from '../../../ui/layout/page.tsx'
import { Timestamp } from '../../../ui/values/time.tsx'
import { PreviewRow } from './preview-row.tsx'
import { keyOf, sortedByOutcome, summaryOf } from './summary.ts'
import type { PreviewState } from './use-preview.ts'

type PreviewProps = {
  state: PreviewState
  /** Why the typed rules have no preview. */
  obstacle: string | undefined
}

export function PreviewPanel({ state, obstacle }: PreviewProps) {
  const { preview, rules, error, isCurrent, refresh } = state
  const isUpdating = !isCurrent && obstacle === undefined
  return (
    <Panel
      title="Preview"
      lead={`What the rules do with the last ${PREVIEWED} events. Updates as you type. Nothing is sent.`}
      actions={
        <Button variant="default" size="compact-sm" onClick={refresh} disabled={obstacle !== undefined}>
          Refresh
        </Button>
      }
    >
      <Group gap="xs" mb="xs" mih={24}>
        <Text size="sm" role="status">
          {obstacle ?? (isCurrent && preview && !error && <Summary preview={preview} />)}
        </Text>
        {isUpdating && <Loader size="xs" aria-hidden="true" />}
      </Group>
      {isCurrent && obstacle === undefined && <ErrorAlert error={error} title="The preview failed" />}
      {preview && <Items preview={preview} rules={rules} isBusy={isUpdating} />}
    </Panel>
  )
}

function Summary({ preview: { items, searchedSince } }: { preview: Preview }) {
  if (items.length === 0 && searchedSince !== null)
    return (
      <>
        No events since <Timestamp at={searchedSince} />.
      </>
    )
  return summaryOf(items)
}

type ItemsProps = { preview: Preview; rules: unknown; isBusy: boolean }

const MAX_SHOWN = 10

/** The first body is open: the user sees it while typing. */
function Items({ preview: { items }, rules, isBusy }: ItemsProps) {
  const [toggled, setToggled] = useState<string>()
  const [showsAll, { open: showAll }] = useDisclosure()
  const sorted = sortedByOutcome(items)
  const first = sorted.find(({ body }) => body !== null)
  const opened = toggled ?? (first && keyOf(first))
  return (
    <>
      <Box
        component="ul"
        m={0}
        p={0}
        style={{ listStyle: 'none' }}
        aria-label="Last events"
        aria-busy={isBusy}
      >
        {(showsAll ? sorted : sorted.slice(0, MAX_SHOWN)).map((item, index) => (
          <PreviewRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a call that was sent twice has the same id
            key={`${keyOf(item)} ${index}`}
            item={item}
            rules={rules}
            isOpened={opened === keyOf(item)}
            onToggle={() => setToggled(opened === keyOf(item) ? '' : keyOf(item))}
          />
        ))}
      </Box>
      {!showsAll && items.length > MAX_SHOWN && (
        <Button variant="default" size="compact-sm" mt="xs" onClick={showAll}>
          Show all {items.length}
        </Button>
      )}
    </>
  )
}
