import { Anchor, Button, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import { useSources } from '../../api/sources.ts'
import { State } from '../../parts/badge.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { ForAdmin } from '../../parts/may-write.tsx'
import { counted } from '../../parts/number.ts'
import { Page } from '../../parts/page.tsx'

export default function Destinations() {
  const query = useDestinations()
  return (
    <Page
      title="Destinations"
      lead="Where events go. Each destination gets every event of its sources that it is on for."
      actions={
        <ForAdmin>
          <Button component={Link} to="/catalog" leftSection={<Icon of="plus" size={16} />}>
            New destination
          </Button>
        </ForAdmin>
      }
    >
      <Loaded query={query}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              icon="destinations"
              title="No destination yet"
              action={{ label: 'Open the catalog', to: '/catalog' }}
            >
              Choose Webhooks in the catalog: it takes a URL and a minute.
            </Empty>
          ) : (
            <List destinations={all} />
          )
        }
      </Loaded>
    </Page>
  )
}

function List({ destinations }: { destinations: readonly Destination[] }) {
  const names = new Map((useSources().data ?? []).map(({ id, name }) => [id, name]))
  return (
    <Table.ScrollContainer minWidth={560} scrollAreaProps={{ 'aria-label': 'Destinations' }}>
      <Table verticalSpacing="sm" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>Type</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Sources</Table.Th>
            <Table.Th>Goes to</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {destinations.map(({ id, name, type, enabled, sourceIds, webhooks }) => (
            <Table.Tr key={id}>
              <Table.Td>
                <Anchor component={Link} to={`/destinations/${id}`} fw={600}>
                  {name}
                </Anchor>
              </Table.Td>
              <Table.Td>{type}</Table.Td>
              <Table.Td>
                <State {...(enabled ? { label: 'On', color: 'green' } : { label: 'Off', color: 'gray' })} />
              </Table.Td>
              <Table.Td>
                {sourceIds.length === 0 ? (
                  <Text size="sm">none: it gets nothing</Text>
                ) : (
                  sourceIds.map((source) => names.get(source) ?? source).join(', ')
                )}
              </Table.Td>
              <Table.Td className="in-flow">
                {hostOf(webhooks[0]?.url)}
                {webhooks.length > 1 && ` and ${counted(webhooks.length - 1, 'other')}`}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

/** What is behind the host may hold a secret, and is long. */
export const hostOf = (url = ''): string => (URL.canParse(url) ? new URL(url).host : url)
