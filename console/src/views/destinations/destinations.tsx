import { Anchor, Button, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { type Destination, useDestinations } from '../../api/destinations.ts'
import { useWorkspaceHealth } from '../../api/health.ts'
import { useSeesAll } from '../../api/session.ts'
import { DataTable } from '../../ui/layout/data-table.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { MayManage } from '../../ui/may-manage.tsx'
import { useSourceNames } from '../../ui/values/names.tsx'
import { OnOffBadge, StateBadge } from '../../ui/values/state-badge.tsx'
import { Url } from '../../ui/values/url.tsx'
import { pluralize } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { destinationState } from '../overview/destination-state.ts'
import { hostOf } from '../webhooks/draft.ts'
import { SET_UP_LABEL, setUpPath } from './set-up-progress.ts'

export default function Destinations() {
  const query = useDestinations()
  return (
    <Page
      title="Destinations"
      lead="Where events go. Each destination receives the events of its connected sources."
      actions={
        <MayManage what="destinations">
          <Button component={Link} to="/catalog" leftSection={<Icon of="plus" size={16} />}>
            New destination
          </Button>
        </MayManage>
      }
    >
      <Loaded query={query}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              icon="destinations"
              title="No destinations yet"
              action={{ label: 'Open the catalog', to: '/catalog' }}
            >
              Choose Webhooks in the catalog. All you need is a URL.
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
  const seesAll = useSeesAll()
  const health = useWorkspaceHealth().data?.items
  const hasWorkspaces = seesAll && destinations.some(({ workspaceId }) => workspaceId !== undefined)
  return (
    <FilteredList
      all={destinations}
      what="destinations"
      textOf={({ id, name, workspaceId = '', webhooks }) =>
        [name, id, workspaceId, ...webhooks.map(({ url }) => hostOf(url))].join(' ')
      }
    >
      {(shown) => (
        <DataTable
          label="Destinations"
          minWidth={560}
          highlightOnHover
          heads={['Name', 'Type', ...(hasWorkspaces ? ['Workspace'] : []), 'Status', 'Sources', 'URLs']}
        >
          {shown.map((destination) => {
            const { id, name, type, workspaceId, enabled, paused, sourceIds, webhooks } = destination
            const now = health?.find(({ destinationId }) => destinationId === id)
            return (
              <Table.Tr key={id}>
                <Table.Td className="in-flow">
                  <Anchor component={Link} to={`/destinations/${id}`} fw={600}>
                    {visible(name)}
                  </Anchor>
                </Table.Td>
                <Table.Td>{type}</Table.Td>
                {hasWorkspaces && <Table.Td>{workspaceId}</Table.Td>}
                <Table.Td>
                  {now ? (
                    <StateBadge {...destinationState(destination, now)} />
                  ) : (
                    <OnOffBadge enabled={enabled} paused={paused} />
                  )}
                  {!enabled && (
                    <MayManage what="destinations">
                      <SetUpLink id={id} name={name} />
                    </MayManage>
                  )}
                </Table.Td>
                <Table.Td className="in-flow">
                  {sourceIds.length === 0 ? <Text size="sm">None</Text> : firstNames(sourceIds.map(nameOf))}
                </Table.Td>
                <Table.Td className="in-flow">
                  <Url>{hostOf(webhooks[0]?.url ?? '')}</Url>
                  {webhooks.length > 1 && ` and ${pluralize(webhooks.length - 1, 'other')}`}
                </Table.Td>
              </Table.Tr>
            )
          })}
        </DataTable>
      )}
    </FilteredList>
  )
}

const SetUpLink = ({ id, name }: Pick<Destination, 'id' | 'name'>) => (
  <Anchor component={Link} to={setUpPath({ id })} size="sm" ml="xs" aria-label={`${SET_UP_LABEL}: ${name}`}>
    {SET_UP_LABEL}
  </Anchor>
)

const MAX_NAMES = 3

const firstNames = (all: readonly string[]): string => {
  const first = all.slice(0, MAX_NAMES).join(', ')
  return all.length > MAX_NAMES ? `${first} and ${pluralize(all.length - MAX_NAMES, 'other')}` : first
}
