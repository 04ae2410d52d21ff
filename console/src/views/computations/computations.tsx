import { Button, Code, Group, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRef } from 'react'
import {
  type Computation,
  type Kind,
  type Sync,
  useComputations,
  useDeleteComputation,
  useSyncs,
} from '../../api/computations.ts'
import { useMayManage } from '../../api/session.ts'
import { ConfirmDelete } from '../../ui/form/confirm.tsx'
import { DataTable } from '../../ui/layout/data-table.tsx'
import { Empty } from '../../ui/layout/empty.tsx'
import { FilteredList } from '../../ui/layout/filtered-list.tsx'
import { Icon } from '../../ui/layout/icon.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { MayManage } from '../../ui/may-manage.tsx'
import { SourceName } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { formatInteger, pluralize } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { LABELS } from './labels.ts'
import { NewComputation } from './new-computation.tsx'
import { Upload } from './upload.tsx'
import { latestSync } from './upload-rules.ts'

export default function Computations({ kind }: { kind: Kind }) {
  const query = useComputations(kind)
  const [opened, { open, close }] = useDisclosure()
  const container = useRef<HTMLDivElement>(null)
  const { title, singular, lead, empty } = LABELS[kind]
  return (
    <Page
      title={title}
      lead={lead}
      actions={
        <MayManage what="all">
          <Button leftSection={<Icon of="plus" size={16} />} onClick={open}>
            New {singular}
          </Button>
        </MayManage>
      }
    >
      <NewComputation kind={kind} opened={opened} onClose={close} />
      <div ref={container} tabIndex={-1} style={{ outline: 'none' }}>
        <Loaded query={query}>
          {(all) =>
            all.length === 0 ? (
              <Empty icon={kind} title={`No ${kind} yet`}>
                {empty}
              </Empty>
            ) : (
              // the deleted row had the focus
              <List kind={kind} all={all} onRemoved={() => container.current?.focus()} />
            )
          }
        </Loaded>
      </div>
    </Page>
  )
}

type ListProps = { kind: Kind; all: readonly Computation[]; onRemoved: () => void }

function List({ kind, all, onRemoved }: ListProps) {
  const mayManage = useMayManage('all')
  const syncs = useSyncs().data ?? []
  return (
    <FilteredList
      all={all}
      what={kind}
      textOf={({ id, name, key, sourceId }) => `${id} ${name} ${key} ${sourceId}`}
    >
      {(shown) => (
        <DataTable
          label={LABELS[kind].title}
          minWidth={640}
          heads={['Name', 'Key', 'Source', 'Last sync', ...(mayManage ? ['Actions'] : [])]}
        >
          {shown.map((computation) => (
            <Row
              key={computation.id}
              kind={kind}
              computation={computation}
              onRemoved={onRemoved}
              sync={latestSync(syncs, { kind, ...computation })}
            />
          ))}
        </DataTable>
      )}
    </FilteredList>
  )
}

type RowProps = RemoveProps & { sync: Sync | undefined }

function Row({ kind, computation, sync, onRemoved }: RowProps) {
  const { id, name, key, sourceId, lastSyncAt } = computation
  return (
    <Table.Tr>
      <Table.Td className="in-flow">
        <Text fw={600}>{visible(name)}</Text>
        <Text size="xs" c="dimmed" ff="monospace">
          {id}
        </Text>
      </Table.Td>
      <Table.Td>
        <Code>{key}</Code>
      </Table.Td>
      <Table.Td className="in-flow">
        <SourceName id={sourceId} />
      </Table.Td>
      <Table.Td className="in-flow">
        <Timestamp at={lastSyncAt} />
        {sync && <SyncState sync={sync} />}
      </Table.Td>
      <MayManage what="all">
        <Table.Td>
          <Group gap="xs" wrap="nowrap">
            <Upload kind={kind} computation={computation} sync={sync} />
            <DeleteComputation kind={kind} computation={computation} onRemoved={onRemoved} />
          </Group>
        </Table.Td>
      </MayManage>
    </Table.Tr>
  )
}

const ENDED = {
  failed: { label: 'Failed', color: 'red' },
  cancelled: { label: 'Cancelled', color: 'gray' },
} as const

/** Also of uploads by other people and programs. */
function SyncState({ sync: { state, lines, createdAt, changed = 0, removed = 0, cause } }: { sync: Sync }) {
  if (state === 'done')
    return (
      <Text size="xs" c="dimmed">
        {pluralize(lines, 'user')}: {formatInteger(changed)} new or changed, {formatInteger(removed)} removed
      </Text>
    )
  return (
    <Group gap={6} role="status">
      <StateBadge {...(state === 'accepted' ? { label: 'Running', color: 'blue' } : ENDED[state])} />
      <Text size="xs">
        {pluralize(lines, 'user')}, started <Timestamp at={createdAt} short />
        {cause && `: ${cause.message}`}
      </Text>
    </Group>
  )
}

type RemoveProps = { kind: Kind; computation: Computation; onRemoved: () => void }

function DeleteComputation({ kind, computation: { id, name }, onRemoved }: RemoveProps) {
  const [opened, { open, close }] = useDisclosure()
  const remove = useDeleteComputation(kind, id)
  function confirmed() {
    // mutate callbacks do not run after the row is unmounted; a promise does
    remove.mutateAsync().then(
      () => onRemoved(),
      () => undefined, // the dialog shows the error
    )
  }
  return (
    <>
      <Button size="compact-sm" variant="subtle" color="red" onClick={open} aria-label={`Delete ${name}`}>
        Delete
      </Button>
      <ConfirmDelete opened={opened} onClose={close} name={name} onConfirm={confirmed} mutation={remove}>
        <Text size="sm">
          The stored state of its users is deleted as well. Sluice sends no calls about this, so receivers
          keep the data they have.
        </Text>
      </ConfirmDelete>
    </>
  )
}
