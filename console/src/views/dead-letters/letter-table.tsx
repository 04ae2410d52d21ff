import { Button, Checkbox, Group, Table, Text, VisuallyHidden } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeadFilter, DeadLetter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { formatInteger, pluralize } from '../../wording/format.ts'
import { ReplayButton } from '../replays/replay-dead-letters.tsx'
import { requestsForFilter, requestsForLetters, type Totals } from '../replays/requests.ts'
import { LetterRow } from './letter-row.tsx'

type LetterTableProps = {
  letters: readonly DeadLetter[]
  filter: DeadFilter
  totals: Omit<Totals, 'destinations'>
  query: Parameters<typeof Older>[0]['query']
}

export function LetterTable({ letters, filter, totals, query }: LetterTableProps) {
  const mayWrite = useMayWrite()
  const destinations = useDestinations().data
  const [selectedIds, setSelectedIds] = useState<ReadonlySet<string>>(new Set())
  const selected = letters.filter(({ deliveryId }) => selectedIds.has(deliveryId))
  const areAllSelected = letters.length > 0 && selected.length === letters.length
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
      {mayWrite && (
        <Group gap="xs" mb="xs">
          <ReplayButton
            label={
              selected.length > 0 ? `Replay ${formatInteger(selected.length)} selected` : 'Replay selected'
            }
            requests={() => requestsForLetters(selected)}
            what={pluralize(selected.length, 'dead letter')}
            disabled={selected.length === 0}
            onStarted={() => setSelectedIds(new Set())}
          />
          <ReplayButton
            label="Replay all matching"
            requests={() => requestsForFilter(filter, { ...totals, letters, destinations, now: Date.now() })}
            what="all dead letters that match the filter (including those not on this page)"
          />
        </Group>
      )}
      <Table.ScrollContainer minWidth={720} scrollAreaProps={{ 'aria-label': 'Dead letters' }}>
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              {mayWrite && (
                <Table.Th w={36}>
                  <Checkbox
                    aria-label="Select all shown"
                    checked={areAllSelected}
                    indeterminate={selected.length > 0 && !areAllSelected}
                    onChange={() =>
                      setSelectedIds(
                        areAllSelected ? new Set() : new Set(letters.map(({ deliveryId }) => deliveryId)),
                      )
                    }
                  />
                </Table.Th>
              )}
              <Table.Th>Time</Table.Th>
              <Table.Th>Destination</Table.Th>
              <Table.Th>Reason</Table.Th>
              <Table.Th>Last error</Table.Th>
              <Table.Th>
                <VisuallyHidden>Actions</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {letters.map((letter) => (
              <LetterRow
                key={`${letter.deliveryId} ${letter.deadAt}`}
                letter={letter}
                isSelected={selectedIds.has(letter.deliveryId)}
                onSelect={(isSelected) => select(letter.deliveryId, isSelected)}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Older query={query} />
    </div>
  )
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
