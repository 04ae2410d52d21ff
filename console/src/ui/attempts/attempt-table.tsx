import { Table, Text } from '@mantine/core'
import { saidOf } from '../../wording/error-codes.ts'
import { duration } from '../../wording/format.ts'
import { outcomeOf } from '../../wording/states.ts'
import { DestinationName } from '../values/names.tsx'
import { State } from '../values/state-badge.tsx'
import { When } from '../values/when.tsx'
import { type Urls, urlOf } from './attempt-url.ts'

export type ShownAttempt = {
  destinationId?: string
  attempt: number
  urlIndex: number | null
  startedAt: string | null
  durationMs: number
  outcome: string
  status: number | null
  code: string | null
  response?: string | null
}

/** Each POST, with what came of it in words. */
export function AttemptTable({
  attempts,
  withDestination = false,
  urls,
}: {
  attempts: readonly ShownAttempt[]
  withDestination?: boolean
  urls?: Urls | undefined
}) {
  return (
    <Table.ScrollContainer minWidth={560} scrollAreaProps={{ 'aria-label': 'Attempts' }}>
      <Table fz="sm" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            {withDestination && <Table.Th>Destination</Table.Th>}
            <Table.Th>Attempt</Table.Th>
            <Table.Th miw={72}>URL</Table.Th>
            <Table.Th>When</Table.Th>
            <Table.Th>Took</Table.Th>
            <Table.Th>What came of it</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {attempts.map((each) => (
            <Table.Tr
              key={`${each.destinationId} ${each.attempt} ${each.urlIndex} ${each.startedAt} ${each.outcome}`}
            >
              {withDestination && (
                <Table.Td className="in-flow">
                  <DestinationName id={each.destinationId ?? ''} />
                </Table.Td>
              )}
              <Table.Td>{each.attempt}</Table.Td>
              <Table.Td className="in-flow">{urlOf(each, urls)}</Table.Td>
              <Table.Td>
                <When at={each.startedAt} short />
              </Table.Td>
              <Table.Td className="time">
                {each.outcome === 'deferred' || each.outcome === 'cancelled' ? '' : duration(each.durationMs)}
              </Table.Td>
              <Table.Td>
                <Outcome attempt={each} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

export function Outcome({
  attempt: { outcome, status, code, response },
}: {
  attempt: Omit<ShownAttempt, 'attempt' | 'urlIndex' | 'startedAt' | 'durationMs'>
}) {
  return (
    <>
      <State {...outcomeOf(outcome)} />
      {status !== null && (
        <Text span size="sm" ml={8}>
          status {status}
        </Text>
      )}
      {code !== null && (
        <Text size="sm">
          {saidOf(code).says}{' '}
          <Text span c="dimmed" size="sm">
            {saidOf(code).todo} ({code})
          </Text>
        </Text>
      )}
      {response && (
        <Text size="xs" c="dimmed" ff="monospace" lineClamp={3} className="in-flow">
          {response}
        </Text>
      )}
    </>
  )
}
