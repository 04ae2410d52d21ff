import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { visible } from '../../wording/visible.ts'

type EventNamesProps = {
  names: readonly string[]
  /** Recent names, to choose from. */
  seen: readonly string[]
  onChange: (names: readonly string[]) => void
  error: string | undefined
}

export function EventNames({ names, seen, onChange, error }: EventNamesProps) {
  // deselected names keep their place
  const [typed, setTyped] = useState(names)
  const offered = [...new Set([...typed, ...seen, ...names])]
  function add(name: string) {
    setTyped([...typed, name])
    if (!names.includes(name)) onChange([...names, name])
  }
  return (
    <Stack gap={6}>
      <Checkbox.Group
        label="Event names"
        description="Select none to send all. Only track calls have an event name."
        value={[...names]}
        onChange={onChange}
        error={error}
      >
        <Stack gap={6} mt={6}>
          <FilteredList all={offered} what="event names" textOf={String}>
            {(shown) =>
              shown.map((name) => (
                <Checkbox key={name} value={name} label={visible(name)} className="in-flow" />
              ))
            }
          </FilteredList>
        </Stack>
      </Checkbox.Group>
      <AddName onAdd={add} />
      {offered.length === 0 && (
        <Text size="xs" c="dimmed">
          Names of recent events appear here.
        </Text>
      )}
    </Stack>
  )
}

function AddName({ onAdd }: { onAdd: (name: string) => void }) {
  const [text, setText] = useState('')
  // not trimmed: event names may begin or end with a space
  function add() {
    if (text.trim() !== '') onAdd(text)
    setText('')
  }
  const latest = useRef(add)
  useEffect(() => {
    latest.current = add
  })
  /** Before the click, the new name would move the button away. After it, saving would lose the name. */
  function addBeforeClick() {
    if (document.querySelector(':active') === null) return add()
    const addNow = () => flushSync(() => latest.current())
    window.addEventListener('click', addNow, { capture: true, once: true })
  }
  return (
    <Group gap="xs" align="flex-end" wrap="nowrap">
      <TextInput
        flex={1}
        miw={0}
        maw={320}
        aria-label="Another event name"
        placeholder="Order Paid"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={addBeforeClick}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          add()
        }}
        autoComplete="off"
        spellCheck={false}
      />
      <Button variant="default" onClick={add} disabled={text.trim() === ''}>
        Add
      </Button>
    </Group>
  )
}
