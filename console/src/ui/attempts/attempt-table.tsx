import { Button, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { errorText } from '../../wording/error-codes.ts'
import { formatDuration, pluralize } from '../../wording/format.ts'
import { isHold, outcomeLabel } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'
import { DataTable } from '../layout/data-table.tsx'
import { DestinationName } from '../values/names.tsx'
import { StateBadge } from '../values/state-badge.tsx'
import { Timestamp } from '../values/time.tsx'
import { Url } from '../values/url.tsx'
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
  urlHash?: number | null
}

const MAX_SHOWN = 3

/** Shows three, and the others on request. */
export function Attempts({ attempts, urls }: { attempts: readonly ShownAttempt[]; urls: Urls | undefined }) {
  const [showsAll, { toggle }] = useDisclosure()
  if (attempts.length === 0) return null
  const made = attempts.filter(({ outcome }) => outcome !== 'deferred')
  const latest = made.slice(-MAX_SHOWN)
  const isHeld = attempts.some(isHold)
  const deferrals = attempts.length - made.length - attempts.filter(isHold).length
  return (
    <>
      {(showsAll || latest.length > 0) && (
        <AttemptTable attempts={showsAll ? attempts : latest} urls={urls} />
      )}
      {latest.length < attempts.length && (
        <Text size="sm" c="dimmed" mt={4}>
          {pluralize(made.length, 'attempt')}
          {deferrals > 0 && `, deferred ${pluralize(deferrals, 'time')}`}
          {isHeld && ', held while the destination was paused'}.{' '}
          <Button variant="subtle" size="compact-xs" onClick={toggle} aria-expanded={showsAll}>
            {showsAll ? 'Show fewer' : 'Show all'}
          </Button>
        </Text>
      )}
    </>
  )
}

type Columns = { withDestination?: boolean; urls?: Urls | undefined }

export function AttemptTable({
  attempts,
  withDestination = false,
  urls,
}: Columns & { attempts: readonly ShownAttempt[] }) {
  return (
    <DataTable
      label="Attempts"
      minWidth={560}
      fz="sm"
      verticalSpacing={6}
      heads={[
        ...(withDestination ? ['Destination'] : []),
        'Attempt',
        { label: 'Webhook', miw: 72 },
        'Time',
        'Duration',
        'Result',
      ]}
    >
      {attempts.map((each) => (
        <AttemptRow
          key={`${each.destinationId} ${each.attempt} ${each.urlIndex} ${each.startedAt} ${each.outcome}`}
          attempt={each}
          withDestination={withDestination}
          urls={urls}
        />
      ))}
    </DataTable>
  )
}

function AttemptRow({ attempt, withDestination, urls }: Columns & { attempt: ShownAttempt }) {
  const { outcome, durationMs } = attempt
  return (
    <Table.Tr>
      {withDestination && (
        <Table.Td className="in-flow">
          <DestinationName id={attempt.destinationId ?? ''} />
        </Table.Td>
      )}
      <Table.Td>{attempt.attempt}</Table.Td>
      <Table.Td>
        <Url>{urlOf(attempt, urls)}</Url>
      </Table.Td>
      <Table.Td>
        <Timestamp at={attempt.startedAt} short />
      </Table.Td>
      <Table.Td className="time">
        {outcome === 'deferred' || outcome === 'cancelled' ? '' : formatDuration(durationMs)}
      </Table.Td>
      <Table.Td>
        <Outcome attempt={attempt} />
      </Table.Td>
    </Table.Tr>
  )
}

export function Outcome({
  attempt: { outcome, status, code, response },
}: {
  attempt: Omit<ShownAttempt, 'attempt' | 'urlIndex' | 'startedAt' | 'durationMs' | 'urlHash'>
}) {
  return (
    <>
      <StateBadge {...outcomeLabel({ outcome, code })} />
      {status !== null && (
        <Text span size="sm" ml={8}>
          status {status}
        </Text>
      )}
      {code !== null && (
        <Text size="sm">
          {errorText(code).meaning}{' '}
          <Text span c="dimmed" size="sm">
            {errorText(code).advice} ({code})
          </Text>
        </Text>
      )}
      {response && (
        <Text size="xs" c="dimmed" ff="monospace" lineClamp={3} className="in-flow">
          {visible(response)}
        </Text>
      )}
    </>
  )
}
