import { Accordion, Group, Table, Text } from '@mantine/core'
import { DataTable, numberHead } from '../../ui/layout/data-table.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { formatDuration, formatInteger, pluralize } from '../../wording/format.ts'
import { type GroupLag, groupDescription, statusLabel } from './consumer-groups.ts'

export function GroupList({ groups }: { groups: readonly GroupLag[] }) {
  return (
    <Accordion variant="separated" multiple order={2}>
      {groups.map((group) => (
        <Accordion.Item key={group.group} value={group.group}>
          <Accordion.Control>
            <Group justify="space-between" gap="sm" pr="sm">
              <div>
                <Text fw={600}>{group.group}</Text>
                <Text size="sm" c="dimmed">
                  {groupDescription(group.group)}
                </Text>
              </div>
              <Group gap="md">
                <Text size="sm">{pluralize(group.records, 'record')}</Text>
                <Text size="sm">{lagText(group)}</Text>
                <StateBadge label={statusLabel(group.status).label} color={statusLabel(group.status).color} />
              </Group>
            </Group>
          </Accordion.Control>
          <Accordion.Panel>
            <Topics group={group} />
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}

const lagText = ({ group, seconds }: GroupLag) => {
  if (seconds === null) return ''
  return `${formatDuration(seconds * 1_000)} ${group === 'deliverer.rungs' ? 'overdue' : 'behind'}`
}

function Topics({ group: { group, topics, status } }: { group: GroupLag }) {
  return (
    <>
      {status !== 'ok' && (
        <Text size="sm" mb="xs">
          {statusLabel(status).explanation}
        </Text>
      )}
      <DataTable
        label={`Topics of ${group}`}
        minWidth={520}
        fz="sm"
        verticalSpacing={4}
        heads={[
          'Topic',
          numberHead('Partition'),
          numberHead('Records'),
          numberHead(group === 'deliverer.rungs' ? 'Overdue' : 'Behind'),
          'State',
        ]}
      >
        {topics
          .filter(({ partitions }) => partitions.length === 0)
          .map((topic) => (
            <Table.Tr key={topic.topic}>
              <Table.Td colSpan={4}>{topic.topic}</Table.Td>
              <Table.Td>
                <StateBadge {...statusLabel(topic.status)} />
              </Table.Td>
            </Table.Tr>
          ))}
        {topics.flatMap(({ topic, partitions }) =>
          partitions.map(({ partition, lag, lagSeconds, status: state }) => (
            <Table.Tr key={`${topic} ${partition}`}>
              <Table.Td>{topic}</Table.Td>
              <Table.Td ta="right">{partition}</Table.Td>
              <Table.Td ta="right">{formatInteger(lag)}</Table.Td>
              <Table.Td ta="right">{lagSeconds === null ? '–' : formatDuration(lagSeconds * 1_000)}</Table.Td>
              <Table.Td>
                <StateBadge {...statusLabel(state)} />
              </Table.Td>
            </Table.Tr>
          )),
        )}
      </DataTable>
    </>
  )
}
