import { Button, Checkbox, Group, Table, Text, VisuallyHidden } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { serverNow } from '../../api/client/clock.ts'
import { countToReplay, type DeadFilter, type DeadLetter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { useMayManage } from '../../api/session.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { formatInteger, pluralize } from '../../wording/format.ts'
import { type Prepared, ReplayButton } from '../replays/replay-dead-letters.tsx'
import {
  describeMatching,
  newestOfEach,
  requestsForFilter,
  requestsForLetters,
  type Totals,
} from '../replays/requests.ts'
import { LetterRow } from './letter-row.tsx'

type LetterTableProps = {
  letters: readonly DeadLetter[]
  filter: DeadFilter
  /** Whether the filter has a text that is not applied yet. */
  isTyping: boolean
  query: Parameters<typeof Older>[0]['query']
}

export function LetterTable({ letters, filter, isTyping, query }: LetterTableProps) {
  const mayManage = useMayManage('destinations')
  const destinations = useDestinations().data
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>(new Set())
  const selected = letters.filter(({ id }) => selectedIds.has(id))
  function select(id: string, isSelected: boolean) {
    const next = new Set(selectedIds)
    if (isSelected) next.add(id)
    else next.delete(id)
    setSelectedIds(next)
  }
  if (letters.length === 0)
    return (
      <Empty icon="search" title="No matching dead letters">
        No dead letter matches the filter. Choose “Clear” to see all.
      </Empty>
    )
  return (
    <div>
      {mayManage && (
        <ReplayButtons
          selected={newestOfEach(selected)}
          onStarted={() => setSelectedIds(new Set())}
          prepareAll={() => prepareAll(filter, { letters, destinations })}
          isTyping={isTyping}
        />
      )}
      <Table verticalSpacing={6} aria-label="Dead letters" className="dense">
        <Head
          selectAll={
            mayManage && <SelectAll letters={letters} count={selected.length} onSelect={setSelectedIds} />
          }
        />
        <Table.Tbody>
          {letters.map((letter) => (
            <LetterRow
              key={letter.id}
              letter={letter}
              isSelected={selectedIds.has(letter.id)}
              onSelect={(isSelected) => select(letter.id, isSelected)}
            />
          ))}
        </Table.Tbody>
      </Table>
      <Older query={query} />
    </div>
  )
}

const Head = ({ selectAll }: { selectAll: ReactNode }) => (
  <Table.Thead>
    <Table.Tr>
      {selectAll && <Table.Th w={36}>{selectAll}</Table.Th>}
      <Table.Th visibleFrom="sm">Time</Table.Th>
      <Table.Th visibleFrom="sm">Destination</Table.Th>
      <Table.Th>Event and user</Table.Th>
      <Table.Th visibleFrom="sm">Reason</Table.Th>
      <Table.Th visibleFrom="sm">Last error</Table.Th>
      <Table.Th>
        <VisuallyHidden>Actions</VisuallyHidden>
      </Table.Th>
    </Table.Tr>
  </Table.Thead>
)

type SelectAllProps = {
  letters: readonly DeadLetter[]
  /** How many are selected. */
  count: number
  onSelect: (ids: ReadonlySet<string>) => void
}

function SelectAll({ letters, count, onSelect }: SelectAllProps) {
  const areAllSelected = count === letters.length
  return (
    <Checkbox
      aria-label="Select all shown"
      checked={areAllSelected}
      indeterminate={count > 0 && !areAllSelected}
      onChange={() => onSelect(new Set(areAllSelected ? [] : letters.map(({ id }) => id)))}
    />
  )
}

type ReplayButtonsProps = {
  selected: readonly DeadLetter[]
  /** A replay of the selected ones has started. */
  onStarted: () => void
  prepareAll: () => Promise<Prepared>
  isTyping: boolean
}

const ReplayButtons = ({ selected, onStarted, prepareAll, isTyping }: ReplayButtonsProps) => (
  <Group gap="xs" mb="xs">
    <ReplayButton
      label={selected.length > 0 ? `Replay ${formatInteger(selected.length)} selected` : 'Replay selected'}
      prepare={() => ({
        requests: requestsForLetters(selected),
        describe: () => pluralize(selected.length, 'dead letter'),
        note: replayedNote(selected),
      })}
      disabled={selected.length === 0}
      onStarted={onStarted}
    />
    <ReplayButton label="Replay all matching" prepare={prepareAll} disabled={isTyping} />
  </Group>
)

/** Skips replayed dead letters, and counts the rest. @throws ApiError */
async function prepareAll(
  filter: DeadFilter,
  { letters, destinations }: { letters: readonly DeadLetter[] } & Pick<Totals, 'destinations'>,
): Promise<Prepared> {
  const note = 'Dead letters that were replayed before are skipped.'
  if (filter.messageId !== undefined) {
    const left = newestOfEach(letters.filter(({ replayed }) => replayed === null))
    return { requests: requestsForLetters(left), describe: () => pluralize(left.length, 'dead letter'), note }
  }
  const now = serverNow()
  const counts = await countToReplay(filter, now)
  return {
    requests: requestsForFilter(filter, { ...counts, destinations, now }),
    describe: (requests) => describeMatching(requests, counts),
    note,
  }
}

function replayedNote(letters: readonly DeadLetter[]): string | undefined {
  const count = letters.filter(({ replayed }) => replayed !== null).length
  return count === 0
    ? undefined
    : `${formatInteger(count)} of them ${count === 1 ? 'was' : 'were'} replayed before, so this sends ${count === 1 ? 'it' : 'them'} again.`
}

type OlderProps = {
  query: {
    data: { pages: readonly unknown[] } | undefined
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => unknown
  }
}

/** Loads older pages. New dead letters do not appear meanwhile. */
function Older({ query: { data, hasNextPage, isFetchingNextPage, fetchNextPage } }: OlderProps) {
  const queryClient = useQueryClient()
  const hasOlder = (data?.pages.length ?? 0) > 1
  return (
    <Group mt="sm" gap="sm">
      {hasNextPage && (
        <Button variant="default" onClick={() => fetchNextPage()} loading={isFetchingNextPage}>
          Show older
        </Button>
      )}
      {hasOlder && (
        <>
          <Button variant="default" onClick={() => void queryClient.resetQueries({ queryKey: ['dead'] })}>
            Back to newest
          </Button>
          <Text size="sm" c="dimmed">
            New dead letters do not appear while older ones are shown.
          </Text>
        </>
      )}
    </Group>
  )
}
