import { Checkbox, Group, Table, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import type { DeadFilter, DeadLetter } from '../../api/dead.ts'
import { useDestinations } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { Empty } from '../../parts/empty.tsx'
import { counted, whole } from '../../parts/number.ts'
import { LetterRow } from './letter-row.tsx'
import { Older } from './older.tsx'
import { ReplayButton } from './replay-button.tsx'
import { ofFilter, ofLetters, type There } from './wanted.ts'

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
