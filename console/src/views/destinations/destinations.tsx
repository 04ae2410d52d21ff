import { Anchor, Button, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import { ForAdmin } from '../../ui/for-admin.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { Shortened } from '../../ui/layout/filtered-list.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { useSourceNames } from '../../ui/values/names.tsx'
import { OnOffState } from '../../ui/values/state-badge.tsx'
import { counted } from '../../wording/format.ts'
import { hostOf } from '../webhooks/draft.ts'
import { goOnWith, setUpOf } from './set-up-progress.ts'

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
  const nameOf = useSourceNames()
  return (
    <Shortened
      all={destinations}
      what="destinations"
      textOf={({ id, name, webhooks }) => [name, id, ...webhooks.map(({ url }) => hostOf(url))].join(' ')}
    >
      {(shown) => (
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
              {shown.map(({ id, name, type, enabled, version, sourceIds, webhooks }) => (
                <Table.Tr key={id}>
                  <Table.Td className="in-flow">
                    <Anchor component={Link} to={`/destinations/${id}`} fw={600}>
                      {name}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>{type}</Table.Td>
                  <Table.Td>
                    <OnOffState enabled={enabled} />
                    {!enabled && (
                      <ForAdmin>
                        <GoOn id={id} name={name} enabled={enabled} version={version} />
                      </ForAdmin>
                    )}
                  </Table.Td>
                  <Table.Td className="in-flow">
                    {sourceIds.length === 0 ? (
                      <Text size="sm">none: it gets nothing</Text>
                    ) : (
                      firstOf(sourceIds.map(nameOf))
                    )}
                  </Table.Td>
                  <Table.Td className="in-flow">
                    {firstOf(
                      webhooks.map(({ url }) => hostOf(url)),
                      1,
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Shortened>
  )
}

function GoOn({ name, ...destination }: Pick<Destination, 'id' | 'name' | 'enabled' | 'version'>) {
  const goOn = goOnWith(destination)
  return (
    <Anchor component={Link} to={setUpOf(destination)} size="sm" ml="xs" aria-label={`${goOn}: ${name}`}>
      {goOn}
    </Anchor>
  )
}

/** "a, b, c and 2 others". */
const firstOf = (all: readonly string[], most = 3): string => {
  const first = all.slice(0, most).join(', ')
  return all.length > most ? `${first} and ${counted(all.length - most, 'other')}` : first
}
