import { Anchor, Button, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from 'wouter'
import { type Source, useSources } from '../../api/sources.ts'
import { ForAdmin } from '../../ui/for-admin.tsx'
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
  return (
    <Page
      title="Sources"
      lead="A source sends calls: a website, an app or a server. Each source has its own write key."
      actions={
        <ForAdmin>
          <Button leftSection={<Icon of="plus" size={16} />} onClick={open}>
            New source
          </Button>
        </ForAdmin>
      }
    >
      <NewSource opened={opened} onClose={close} />
      <Loaded query={sources}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="sources" title="No sources yet">
              Create one with “New source”. You get a write key and a snippet that sends the first call.
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
  return (
    <FilteredList all={sources} what="sources" textOf={({ id, name }) => `${name} ${id}`}>
      {(shown) => (
        <DataTable
          label="Sources"
          minWidth={520}
          highlightOnHover
          heads={['Name', 'ID', 'Status', 'Updated']}
        >
          {shown.map(({ id, name, enabled, updatedAt }) => (
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
