import { Button, Code, Group, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Computation, type Kind, useComputations } from '../../api/computations.ts'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { ForAdmin } from '../../parts/may-write.tsx'
import { Page } from '../../parts/page.tsx'
import { When } from '../../parts/when.tsx'
import { NewComputation } from './new-computation.tsx'
import { RemoveComputation } from './remove-computation.tsx'
import { Upload } from './upload.tsx'
import { WORDS } from './words.ts'

/** Audiences, or computed traits. */
export function Computations({ kind }: { kind: Kind }) {
  const query = useComputations(kind)
  const [opened, { open, close }] = useDisclosure()
  const { title, one, lead, empty } = WORDS[kind]
  return (
    <Page
      title={title}
      lead={lead}
      actions={
        <ForAdmin>
          <Button leftSection={<Icon of="plus" size={16} />} onClick={open}>
            New {one}
          </Button>
        </ForAdmin>
      }
    >
      <NewComputation kind={kind} opened={opened} onClose={close} />
      <Loaded query={query}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon={kind} title={`No ${one} yet`}>
              {empty}
            </Empty>
          ) : (
            <List kind={kind} all={all} />
          )
        }
      </Loaded>
    </Page>
  )
}

function List({ kind, all }: { kind: Kind; all: readonly Computation[] }) {
  return (
    <Table.ScrollContainer minWidth={640} scrollAreaProps={{ 'aria-label': WORDS[kind].title }}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th>As receivers see it</Table.Th>
            <Table.Th>Source</Table.Th>
            <Table.Th>Last sync</Table.Th>
            <ForAdmin>
              <Table.Th>Change</Table.Th>
            </ForAdmin>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {all.map((computation) => (
            <Table.Tr key={computation.id}>
              <Table.Td>
                <Text fw={600}>{computation.name}</Text>
              </Table.Td>
              <Table.Td>
                <Code>{computation.key}</Code>
              </Table.Td>
              <Table.Td>{computation.sourceId}</Table.Td>
              <Table.Td>
                <When at={computation.lastSyncAt} />
              </Table.Td>
              <ForAdmin>
                <Table.Td>
                  <Group gap="xs" wrap="nowrap">
                    <Upload kind={kind} computation={computation} />
                    <RemoveComputation kind={kind} computation={computation} />
                  </Group>
                </Table.Td>
              </ForAdmin>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
