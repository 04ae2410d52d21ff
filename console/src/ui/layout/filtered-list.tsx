import { Button, Group, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { whole } from '../../wording/format.ts'
import { FEW, matching, STEP } from './list-filter.ts'

type ShortenedParts<T> = {
  all: readonly T[]
  /** What the filter is compared with. */
  textOf: (item: T) => string
  /** What there are, as "sources". */
  what: string
  children: (shown: readonly T[]) => ReactNode
}

/** A long list: a hundred of it, more where they are wanted, and a field to find one. */
export function Shortened<T>({ all, textOf, what, children }: ShortenedParts<T>) {
  const [text, setText] = useState('')
  const [most, setMost] = useState(STEP)
  const found = matching(all, text, textOf)
  return (
    <>
      {all.length > FEW && (
        <TextInput
          size="xs"
          maw={320}
          mb="xs"
          type="search"
          aria-label={`Filter ${what}`}
          placeholder={`Filter ${whole(all.length)} ${what}`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      {children(found.slice(0, most))}
      {found.length > most && (
        <Group gap="sm" mt="xs">
          <Text size="sm" c="dimmed">
            {whole(most)} of {whole(found.length)} {what}
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => setMost(most + STEP)}>
            Show more
          </Button>
        </Group>
      )}
      {found.length === 0 && all.length > 0 && (
        <Text size="sm" c="dimmed">
          None of the {whole(all.length)} {what} has “{text}”.
        </Text>
      )}
    </>
  )
}
