import { Button, Code, Group, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRef } from 'react'
import { type Computation, type Kind, useComputations, useRemoveComputation } from '../../api/computations.ts'
import { ForAdmin } from '../../ui/for-admin.tsx'
import { Confirm } from '../../ui/form/confirm.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { Shortened } from '../../ui/layout/filtered-list.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { SourceName } from '../../ui/values/names.tsx'
import { When } from '../../ui/values/when.tsx'
import { WORDS } from './labels.ts'
import { NewComputation } from './new-computation.tsx'
import { Upload } from './upload.tsx'

/** Audiences, or computed traits. */
export default function Computations({ kind }: { kind: Kind }) {
  const query = useComputations(kind)
  const [opened, { open, close }] = useDisclosure()
  const place = useRef<HTMLDivElement>(null)
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
      <div ref={place} tabIndex={-1} style={{ outline: 'none' }}>
        <Loaded query={query}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={kind} title={`No ${one} yet`}>
                {empty}
              </Empty>
            ) : (
              // the row that had the focus is gone with what it was of
              <List kind={kind} all={all} onRemoved={() => place.current?.focus()} />
            )
          }
        </Loaded>
      </div>
    </Page>
  )
}

type ListParts = { kind: Kind; all: readonly Computation[]; onRemoved: () => void }

function List({ kind, all, onRemoved }: ListParts) {
  return (
    <Shortened all={all} what={kind} textOf={({ name, key, sourceId }) => `${name} ${key} ${sourceId}`}>
      {(shown) => (
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
              {shown.map((computation) => (
                <Table.Tr key={computation.id}>
                  <Table.Td className="in-flow">
                    <Text fw={600}>{computation.name}</Text>
                  </Table.Td>
                  <Table.Td>
                    <Code>{computation.key}</Code>
                  </Table.Td>
                  <Table.Td className="in-flow">
                    <SourceName id={computation.sourceId} />
                  </Table.Td>
                  <Table.Td>
                    <When at={computation.lastSyncAt} />
                  </Table.Td>
                  <ForAdmin>
                    <Table.Td>
                      <Group gap="xs" wrap="nowrap">
                        <Upload kind={kind} computation={computation} />
                        <RemoveComputation kind={kind} computation={computation} onRemoved={onRemoved} />
                      </Group>
                    </Table.Td>
                  </ForAdmin>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Shortened>
  )
}

type RemoveParts = { kind: Kind; computation: Computation; onRemoved: () => void }

function RemoveComputation({ kind, computation: { id, name }, onRemoved }: RemoveParts) {
  const [opened, { open, close }] = useDisclosure()
  const remove = useRemoveComputation(kind, id)
  function confirmed() {
    // the row is gone by then, and what it would be told with it
    remove.mutateAsync().then(
      () => onRemoved(),
      () => undefined, // it stands in the dialogue
    )
  }
  return (
    <>
      <Button size="compact-sm" variant="subtle" color="red" onClick={open} aria-label={`Delete ${name}`}>
        Delete
      </Button>
      <Confirm
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        action={`Delete ${name}`}
        danger
        onConfirm={confirmed}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">
          What is kept of its users goes with it. No calls are sent about that: receivers keep what they have.
        </Text>
      </Confirm>
    </>
  )
}
