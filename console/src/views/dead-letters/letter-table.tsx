import { Button, Checkbox, Group, Table, Text, VisuallyHidden } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeadFilter, DeadLetter } from '../../api/dead-letters.ts'
import { useDestinations } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { counted, whole } from '../../wording/format.ts'
import { ReplayButton } from '../replays/replay-dead-letters.tsx'
import { ofFilter, ofLetters, type There } from '../replays/requests.ts'
import { LetterRow } from './letter-row.tsx'

type LettersParts = {
  letters: readonly DeadLetter[]
  filter: DeadFilter
  there: Omit<There, 'destinations'>
  query: Parameters<typeof Older>[0]['query']
}

export function Letters({ letters, filter, there, query }: LettersParts) {
  const mayWrite = useMayWrite()
  const destinations = useDestinations().data
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const selected = letters.filter(({ deliveryId }) => chosen.has(deliveryId))
  const isAll = letters.length > 0 && selected.length === letters.length
  function choose(id: string, isChosen: boolean) {
    const next = new Set(chosen)
    if (isChosen) next.add(id)
    else next.delete(id)
    setChosen(next)
  }
  if (letters.length === 0)
    return (
      <Empty icon="search" title="None of these">
        Nothing that was given up fits the filter. “Clear” shows all.
      </Empty>
    )
  return (
    <div>
      {mayWrite && (
        <Group gap="xs" mb="xs">
          <ReplayButton
            label={selected.length > 0 ? `Replay ${whole(selected.length)} selected` : 'Replay selected'}
            wanted={() => ofLetters(selected)}
            what={counted(selected.length, 'dead letter')}
            disabled={selected.length === 0}
            onBegun={() => setChosen(new Set())}
          />
          <ReplayButton
            label="Replay all of this filter"
            wanted={() => ofFilter(filter, { ...there, letters, destinations, now: Date.now() })}
            what="every dead letter of this filter, also those that are not on this page,"
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
                    aria-label="Select all that are shown"
                    checked={isAll}
                    indeterminate={selected.length > 0 && !isAll}
                    onChange={() =>
                      setChosen(isAll ? new Set() : new Set(letters.map(({ deliveryId }) => deliveryId)))
                    }
                  />
                </Table.Th>
              )}
              <Table.Th>Given up</Table.Th>
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
                isChosen={chosen.has(letter.deliveryId)}
                onChoose={(isChosen) => choose(letter.deliveryId, isChosen)}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Older query={query} />
    </div>
  )
}

type OlderParts = {
  query: {
    data: { pages: readonly unknown[] } | undefined
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage: () => unknown
  }
}

/** Further back, page by page; meanwhile nothing that is newer comes in between. */
export function Older({ query: { data, hasNextPage, isFetchingNextPage, fetchNextPage } }: OlderParts) {
  const queries = useQueryClient()
  const hasOlder = (data?.pages.length ?? 0) > 1
  return (
    <Group mt="sm" gap="sm">
      {hasNextPage && (
        <Button variant="default" onClick={() => fetchNextPage()} loading={isFetchingNextPage}>
          Show older ones
        </Button>
      )}
      {hasOlder && (
        <>
          <Button variant="default" onClick={() => void queries.resetQueries({ queryKey: ['dead'] })}>
            Back to the newest
          </Button>
          <Text size="sm" c="dimmed">
            While older ones are shown, what is given up now is not.
          </Text>
        </>
      )}
    </Group>
  )
}
