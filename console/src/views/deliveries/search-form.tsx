import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { BY, type By, type Search } from '../../api/search.ts'
import { useSources } from '../../api/sources.ts'
import { Icon } from '../../parts/icon.tsx'
import { typedTime } from '../../parts/time.ts'

const NAMES: Record<By, string> = {
  messageId: 'Message id',
  userId: 'User id',
  anonymousId: 'Anonymous id',
  deliveryId: 'Delivery id (X-Delivery-Id)',
}

type SearchParts = { search: Search | undefined; onSearch: (search: Search) => void }

export function SearchForm({ search, onSearch }: SearchParts) {
  const [by, setBy] = useState<By>(search?.by ?? 'messageId')
  const [value, setValue] = useState(search?.value ?? '')
  const [sourceId, setSourceId] = useState(search?.sourceId ?? '')
  const [around, setAround] = useState(search?.around ? typedTime(search.around) : '')
  const sources = useSources().data ?? []
  function submit(event: FormEvent) {
    event.preventDefault()
    if (value.trim() === '') return
    const at = around === '' ? undefined : new Date(around).toISOString()
    onSearch({ by, value: value.trim(), ...(sourceId && { sourceId }), ...(at && { around: at }) })
  }
  return (
    <search>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="xs">
          <NativeSelect
            label="Search by"
            value={by}
            onChange={(event) => setBy(BY.find((one) => one === event.currentTarget.value) ?? 'messageId')}
            data={BY.map((one) => ({ value: one, label: NAMES[one] }))}
          />
          <TextInput
            flex={1}
            miw={220}
            maw={520}
            label={NAMES[by]}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
          />
          <NativeSelect
            label="From"
            value={sourceId}
            onChange={(event) => setSourceId(event.currentTarget.value)}
            data={[
              { value: '', label: 'any source' },
              ...sources.map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
          <TextInput
            type="datetime-local"
            label="Came in around (if known)"
            value={around}
            onChange={(event) => setAround(event.currentTarget.value)}
          />
          <Button type="submit" leftSection={<Icon of="search" size={16} />}>
            Search
          </Button>
        </Group>
      </form>
    </search>
  )
}
