import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import {
  restartSearch,
  SEARCH_FIELDS,
  type Search,
  type SearchField,
  searchFromParams,
} from '../../api/events.ts'
import { useSources } from '../../api/sources.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { fromLocalInput, MAX_LOCAL_INPUT, toLocalInput } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { SearchResults } from './results.tsx'

export default function EventSearch() {
  const [search, setSearch] = useSearch()
  const key = JSON.stringify(search)
  return (
    <Page
      title="Where is my event?"
      lead="See whether a call was accepted, which destinations it was sent to, and the result of each attempt."
    >
      <SearchForm key={`form ${key}`} search={search} onSearch={setSearch} />
      {search ? (
        <SearchResults key={key} search={search} />
      ) : (
        <Empty icon="search" title="Search for an event">
          The message ID is in the call and in the X-Message-Id header of each request. Live calls and dead
          letters link here as well. A user ID finds all events of that user, newest first.
        </Empty>
      )}
    </Page>
  )
}

const NAMES: Record<SearchField, string> = {
  messageId: 'Message ID',
  userId: 'User ID',
  anonymousId: 'Anonymous ID',
  event: 'Event name',
  deliveryId: 'Delivery ID (X-Delivery-Id)',
}

type SearchProps = { search: Search | undefined; onSearch: (search: Search) => void }

function SearchForm({ search, onSearch }: SearchProps) {
  const [by, setBy] = useState<SearchField>(search?.by ?? 'messageId')
  const [value, setValue] = useState(search?.value ?? '')
  const [sourceId, setSourceId] = useState(search?.sourceId ?? '')
  const [around, setAround] = useState(search?.around ? toLocalInput(search.around) : '')
  const sources = useSources().data ?? []
  function submit(event: FormEvent) {
    event.preventDefault()
    if (value.trim() === '') return
    const at = fromLocalInput(around, search?.around)
    onSearch({ by, value: value.trim(), ...(sourceId && { sourceId }), ...(at && { around: at }) })
  }
  return (
    <search>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="xs">
          <NativeSelect
            label="Search by"
            value={by}
            onChange={(event) =>
              setBy(SEARCH_FIELDS.find((one) => one === event.currentTarget.value) ?? 'messageId')
            }
            data={SEARCH_FIELDS.map((one) => ({ value: one, label: NAMES[one] }))}
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
            label="Source"
            value={sourceId}
            onChange={(event) => setSourceId(event.currentTarget.value)}
            data={[
              { value: '', label: 'All sources' },
              ...sources.map(({ id, name }) => ({ value: id, label: visible(name) })),
            ]}
          />
          <TextInput
            type="datetime-local"
            max={MAX_LOCAL_INPUT}
            label="Received around (optional)"
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

function useSearch(): [Search | undefined, (search: Search) => void] {
  const [params, setParams] = useSearchParams()
  function search(next: Search): void {
    const { by, value, ...where } = next
    restartSearch(next)
    setParams({ [by]: value, ...where })
  }
  return [searchFromParams(params), search]
}
