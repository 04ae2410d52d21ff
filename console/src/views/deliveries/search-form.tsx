import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { BY, type By, type Search } from '../../api/events.ts'
import { Icon } from '../../parts/icon.tsx'

const NAMES: Record<By, string> = {
  messageId: 'Message id',
  userId: 'User id',
  anonymousId: 'Anonymous id',
  deliveryId: 'Delivery id (X-Delivery-Id)',
}

export function SearchForm({
  search,
  onSearch,
}: {
  search: Search | undefined
  onSearch: (search: Search) => void
}) {
  const [by, setBy] = useState<By>(search?.by ?? 'messageId')
  const [value, setValue] = useState(search?.value ?? '')
  function submit(event: FormEvent) {
    event.preventDefault()
    if (value.trim() !== '') onSearch({ by, value: value.trim() })
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
          <Button type="submit" leftSection={<Icon of="search" size={16} />}>
            Search
          </Button>
        </Group>
      </form>
    </search>
  )
}
