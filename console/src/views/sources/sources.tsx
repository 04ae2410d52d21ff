import { Anchor, Button, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from 'wouter'
import { useMayManage, useSeesAll } from '../../api/session.ts'
import { type Source, useSources } from '../../api/sources.ts'
import { DataTable } from '../../ui/layout/data-table.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { OnOffBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { visible } from '../../wording/visible.ts'
import { NewSource } from './new-source.tsx'

export default function Sources() {
  const sources = useSources()
  const [opened, { open, close }] = useDisclosure()
  const mayCreate = useMayManage('all')
  return (
    <Page
      title="Sources"
      lead="A source sends calls: a website, an app or a server. Each source has its own write key."
      actions={
        mayCreate && (
          <Button leftSection={<Icon of="plus" size={16} />} onClick={open}>
            New source
          </Button>
        )
      }
    >
      <NewSource opened={opened} onClose={close} />
      <Loaded query={sources}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="sources" title="No sources yet">
              {mayCreate
                ? 'Create one with “New source”. You get a write key and a snippet that sends the first call.'
                : 'An administrator creates them.'}
            </Empty>
          ) : (
            <List sources={all} />
          )
        }
      </Loaded>
    </Page>
  )
}

function List({ sources }: { sources: readonly Source[] }) {
  const hasWorkspaces = useSeesAll() && sources.some(({ workspaceId }) => workspaceId !== undefined)
  return (
    <FilteredList
      all={sources}
      what="sources"
      textOf={({ id, name, workspaceId = '' }) => `${name} ${id} ${workspaceId}`}
    >
      {(shown) => (
        <DataTable
          label="Sources"
          minWidth={520}
          highlightOnHover
          heads={['Name', 'ID', ...(hasWorkspaces ? ['Workspace'] : []), 'Status', 'Updated']}
        >
          {shown.map(({ id, name, workspaceId, enabled, updatedAt }) => (
            <Table.Tr key={id}>
              <Table.Td className="in-flow">
                <Anchor component={Link} to={`/sources/${id}`} fw={600}>
                  {visible(name)}
                </Anchor>
              </Table.Td>
              <Table.Td>
                <Text size="sm" ff="monospace">
                  {id}
                </Text>
              </Table.Td>
              {hasWorkspaces && <Table.Td>{workspaceId}</Table.Td>}
              <Table.Td>
                <OnOffBadge enabled={enabled} />
              </Table.Td>
              <Table.Td>
                <Timestamp at={updatedAt} />
              </Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </FilteredList>
  )
}
