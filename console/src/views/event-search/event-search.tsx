import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { BY, type By, type Search, searchAnew, searchIn } from '../../api/events.ts'
import { useSources } from '../../api/sources.ts'
import { Empty } from '../../ui/layout/empty.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { typedTime } from '../../wording/format.ts'
import { Found } from './results.tsx'

export default function Deliveries() {
  const [search, setSearch] = useSearched()
  const key = JSON.stringify(search)
  return (
    <Page
      title="Where is my event?"
      lead="Whether a call was accepted, to which destinations it went and why not to others, and what came of each attempt."
    >
      <SearchForm key={`form ${key}`} search={search} onSearch={setSearch} />
      {search ? (
        <Found key={key} search={search} />
      ) : (
        <Empty icon="search" title="Which event?">
          The message id is in the call, and in the header X-Message-Id of each webhook; live calls and dead
          letters lead here as well. With a user id you get that user’s events, newest first.
        </Empty>
      )}
    </Page>
  )
}

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

/** What is searched for stands in the page's address: it can be sent to a colleague. */
export function useSearched(): [Search | undefined, (search: Search) => void] {
  const [params, setParams] = useSearchParams()
  function search(wanted: Search): void {
    const { by, value, ...where } = wanted
    searchAnew(wanted)
    setParams({ [by]: value, ...where })
  }
  return [searchIn(params), search]
}
