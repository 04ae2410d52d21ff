import { Accordion, Group, Table, Text } from '@mantine/core'
import { State } from '../../ui/values/state-badge.tsx'
import { counted, duration, whole } from '../../wording/format.ts'
import { type GroupLag, groupOf, statusOf } from './consumer-groups.ts'

/** Each group; opened, its topics and partitions. */
export function Groups({ groups }: { groups: readonly GroupLag[] }) {
  return (
    <Accordion variant="separated" multiple order={2}>
      {groups.map((group) => (
        <Accordion.Item key={group.group} value={group.group}>
          <Accordion.Control>
            <Group justify="space-between" gap="sm" pr="sm">
              <div>
                <Text fw={600}>{group.group}</Text>
                <Text size="sm" c="dimmed">
                  {groupOf(group.group)}
                </Text>
              </div>
              <Group gap="md">
                <Text size="sm">{counted(group.records, 'record')}</Text>
                <Text size="sm">{waiting(group)}</Text>
                <State label={statusOf(group.status).label} color={statusOf(group.status).color} />
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

const waiting = ({ group, seconds }: GroupLag) => {
  if (seconds === null) return ''
  return `${duration(seconds * 1_000)} ${group === 'deliverer.rungs' ? 'past due' : 'behind'}`
}

function Topics({ group: { group, topics, status } }: { group: GroupLag }) {
  return (
    <>
      {status !== 'ok' && (
        <Text size="sm" mb="xs">
          {statusOf(status).says}
        </Text>
      )}
      <Table.ScrollContainer minWidth={520} scrollAreaProps={{ 'aria-label': `Topics of ${group}` }}>
        <Table fz="sm" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Topic</Table.Th>
              <Table.Th ta="right">Partition</Table.Th>
              <Table.Th ta="right">Records</Table.Th>
              <Table.Th ta="right">{group === 'deliverer.rungs' ? 'Past due' : 'Behind'}</Table.Th>
              <Table.Th>State</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {topics.flatMap(({ topic, partitions }) =>
              partitions.map(({ partition, lag, lagSeconds, status: state }) => (
                <Table.Tr key={`${topic} ${partition}`}>
                  <Table.Td>{topic}</Table.Td>
                  <Table.Td ta="right">{partition}</Table.Td>
                  <Table.Td ta="right">{whole(lag)}</Table.Td>
                  <Table.Td ta="right">{lagSeconds === null ? '–' : duration(lagSeconds * 1_000)}</Table.Td>
                  <Table.Td>
                    <State {...statusOf(state)} />
                  </Table.Td>
                </Table.Tr>
              )),
            )}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </>
  )
}
