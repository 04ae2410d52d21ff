import { Code, Table, Text } from '@mantine/core'
import { type Deletion, useDeletions } from '../../api/users.ts'
import { DataTable, numberHead } from '../../ui/layout/data-table.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { formatInteger } from '../../wording/format.ts'

const STATES = {
  accepted: {
    label: 'Running',
    color: 'blue',
    explanation: 'The delete events are being written. Failures are retried.',
  },
  done: {
    label: 'Done',
    color: 'green',
    explanation: 'All delete events are written. Find a user to see their deliveries.',
  },
  failed: { label: 'Failed', color: 'red', explanation: 'It cannot succeed. Request it again.' },
} as const

export function DeletionList() {
  const query = useDeletions()
  return (
    <Panel
      title="Deletions"
      lead="The latest requests, kept for 30 days. Done means that all delete events are on their way. Find the user again to see what each receiver answered. A finished request no longer contains user IDs."
    >
      <Loaded query={query}>
        {(deletions) =>
          deletions.length === 0 ? (
            <Text size="sm" c="dimmed">
              No user has been deleted.
            </Text>
          ) : (
            <DataTable
              label="Deletions"
              minWidth={960}
              heads={[
                'State',
                'Requested',
                numberHead('Users'),
                numberHead('Delete events'),
                'Suppressed',
                'Finished',
                'ID',
              ]}
            >
              {deletions.map((deletion) => (
                <Row key={deletion.id} deletion={deletion} />
              ))}
            </DataTable>
          )
        }
      </Loaded>
    </Panel>
  )
}

function Row({ deletion }: { deletion: Deletion }) {
  const { id, state, createdAt, finishedAt, users, deletes, suppressed, cause } = deletion
  return (
    <Table.Tr>
      <Table.Td>
        <StateBadge {...STATES[state]} />
      </Table.Td>
      <Table.Td>
        <Timestamp at={createdAt} />
      </Table.Td>
      <Table.Td ta="right">{formatInteger(users)}</Table.Td>
      <Table.Td ta="right">{formatInteger(deletes)}</Table.Td>
      <Table.Td>{suppressed ? 'Yes' : 'No'}</Table.Td>
      <Table.Td>
        {finishedAt === undefined ? '–' : <Timestamp at={finishedAt} />}
        {cause && (
          <Text size="sm" className="in-flow">
            {cause.message}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Code style={{ whiteSpace: 'nowrap' }}>{id}</Code>
      </Table.Td>
    </Table.Tr>
  )
}
