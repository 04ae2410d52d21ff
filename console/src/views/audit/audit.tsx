import { Button, Code, Group, List, NativeSelect, Stack, Table, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSearchParams } from 'wouter'
import { api, resultOf } from '../../api/client/client.ts'
import { useSearch } from '../../api/client/search.ts'
import { SIGN_ON_URL } from '../../api/single-sign-on.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { DataTable } from '../../ui/layout/data-table.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { visible } from '../../wording/visible.ts'
import { type AuditEntry, changeLines, detailLines, INCOMPLETE, KINDS, OUTCOMES, whatLabel } from './entry.ts'

type AuditFilter = { what?: string; id?: string; person?: string }

const useAudit = (filter: AuditFilter) =>
  useSearch(['audit', filter], (from, signal) =>
    resultOf(api.GET('/api/audit', { params: { query: { ...filter, ...from } }, signal })),
  )

export default function Audit() {
  const [params, setParams] = useSearchParams()
  const [what, id, person] = [params.get('what'), params.get('id'), params.get('person')]
  const filter = { ...(what && { what }), ...(id && { id }), ...(person && { person }) }
  return (
    <Page
      title="Audit log"
      lead="Who changed what, when and from where, for 90 days. Secrets and user IDs are never recorded."
    >
      <FilterForm key={JSON.stringify(filter)} filter={filter} onFilter={(next) => setParams({ ...next })} />
      <Entries key={`of ${JSON.stringify(filter)}`} filter={filter} />
    </Page>
  )
}

type FilterProps = { filter: AuditFilter; onFilter: (filter: AuditFilter) => void }

function FilterForm({ filter, onFilter }: FilterProps) {
  const [what, setWhat] = useState(filter.what ?? '')
  const [id, setId] = useState(filter.id ?? '')
  const [person, setPerson] = useState(filter.person ?? '')
  function submit(event: FormEvent) {
    event.preventDefault()
    onFilter({
      ...(what && { what }),
      ...(id.trim() && { id: id.trim() }),
      ...(person.trim() && { person: person.trim() }),
    })
  }
  return (
    <search>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="xs">
          <NativeSelect
            label="Kind"
            value={what}
            onChange={(event) => setWhat(event.currentTarget.value)}
            data={[
              { value: '', label: 'All' },
              ...Object.entries(KINDS).map(([value, label]) => ({ value, label })),
            ]}
          />
          <Wanted label="ID (optional)" value={id} onChange={setId} maxLength={64} />
          {SIGN_ON_URL !== undefined && (
            <Wanted label="Person (optional)" value={person} onChange={setPerson} maxLength={200} />
          )}
          <Button type="submit">Filter</Button>
        </Group>
      </form>
    </search>
  )
}

type WantedProps = { label: string; value: string; onChange: (value: string) => void; maxLength: number }

const Wanted = ({ onChange, ...props }: WantedProps) => (
  <TextInput
    {...props}
    onChange={(event) => onChange(event.currentTarget.value)}
    autoComplete="off"
    spellCheck={false}
  />
)

function Entries({ filter }: { filter: AuditFilter }) {
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useAudit(filter)
  const items = (data?.pages ?? []).flatMap((page) => page.items)
  const isEmpty = data !== undefined && items.length === 0
  return (
    <Stack>
      <ErrorAlert error={error} title="Loading failed" />
      {!data && isFetching && (
        <Text size="sm" role="status">
          Reading the audit log…
        </Text>
      )}
      {isEmpty && !hasNextPage && (
        <Empty icon="search" title="No entries">
          Nothing in the last 90 days matches these filters.
        </Empty>
      )}
      {items.length > 0 && <EntryTable items={items} />}
      {hasNextPage && (
        <Group justify="flex-end">
          <Button variant="default" onClick={() => void fetchNextPage()} loading={isFetching}>
            Show older entries
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function EntryTable({ items }: { items: readonly AuditEntry[] }) {
  return (
    <DataTable label="Audit log" minWidth={760} heads={['When', 'Who', 'What', 'Changes']}>
      {items.map((entry, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: entries have no id, and their order does not change
        <Entry key={index} entry={entry} />
      ))}
    </DataTable>
  )
}

function Entry({ entry }: { entry: AuditEntry }) {
  const { at, who, person, by, address, session, what, outcome, id } = entry
  const lines = [...changeLines(entry), ...detailLines(entry)]
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td>
        <Timestamp at={at} />
      </Table.Td>
      <Table.Td>
        <Text size="sm">
          {person ? `${person} (${who})` : who}, {by === 'bearer' ? 'with the token' : 'signed in'}
        </Text>
        <Text size="xs" c="dimmed" className="in-flow">
          from {address}
          {session !== null && `, session ${session}`}
        </Text>
      </Table.Td>
      <Table.Td className="in-flow">
        <Group gap={6}>
          <Text size="sm">{whatLabel(what)}</Text>
          <StateBadge label={OUTCOMES[outcome] ?? outcome} color={INCOMPLETE.has(outcome) ? 'red' : 'gray'} />
        </Group>
        {id !== null && <Code>{id}</Code>}
      </Table.Td>
      <Table.Td className="in-flow">
        {lines.length > 0 && (
          <List size="sm" listStyleType="none">
            {lines.map((line) => (
              <List.Item key={line}>{visible(line)}</List.Item>
            ))}
          </List>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
