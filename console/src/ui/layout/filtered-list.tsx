import { Button, Group, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { formatInteger } from '../../wording/format.ts'
import { filterByWords, MIN_FOR_FILTER, PAGE_SIZE } from './list-filter.ts'

type FilteredListProps<T> = {
  all: readonly T[]
  textOf: (item: T) => string
  what: string
  children: (shown: readonly T[]) => ReactNode
}

/** Shows a hundred items at a time, with a filter if the list is long. */
export function FilteredList<T>({ all, textOf, what, children }: FilteredListProps<T>) {
  const [text, setText] = useState('')
  const [limit, setLimit] = useState(PAGE_SIZE)
  const found = filterByWords(all, text, textOf)
  return (
    <>
      {all.length > MIN_FOR_FILTER && (
        <TextInput
          size="xs"
          maw={320}
          mb="xs"
          type="search"
          aria-label={`Filter ${what}`}
          placeholder={`Filter ${formatInteger(all.length)} ${what}`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {children(found.slice(0, limit))}
      {found.length > limit && (
        <Group gap="sm" mt="xs">
          <Text size="sm" c="dimmed">
            {formatInteger(limit)} of {formatInteger(found.length)} {what}
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => setLimit(limit + PAGE_SIZE)}>
            Show more
          </Button>
        </Group>
      )}
      {found.length === 0 && all.length > 0 && (
        <Text size="sm" c="dimmed">
          None of the {formatInteger(all.length)} {what} match “{text}”.
        </Text>
      )}
    </>
  )
}
