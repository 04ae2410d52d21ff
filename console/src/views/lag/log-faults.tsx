import { Alert, List } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { api, resultOf } from '../../api/client/client.ts'
import type { components } from '../../api/client/schema.ts'
import { Timestamp } from '../../ui/values/time.tsx'
import { formatInteger, pluralize } from '../../wording/format.ts'

type Fault = components['schemas']['LogFault']

const CAUSES: Record<string, string> = {
  removed: 'deleted before they were read',
  truncated: 'lost from the end of the log',
  recreated: 'lost when the topic was deleted and recreated',
}
const MAX_SHOWN = 5
const REFETCH_MS = 30_000

export function LogFaults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null
  const more = faults.length - MAX_SHOWN
  return (
    <Alert color="red" role="alert" title="Kafka has lost records">
      Sluice continues from the right offset. These records are no longer in Kafka, and unread ones were not
      delivered:
      <List size="sm">
        {faults.slice(0, MAX_SHOWN).map((fault) => (
          <List.Item key={`${fault.topic}/${fault.partition}/${fault.from}/${fault.at}`}>
            <Timestamp at={fault.at} />: {pluralize(fault.lost, 'record')} of topic {fault.topic}, partition{' '}
            {fault.partition}, from offset {formatInteger(fault.from)}: {CAUSES[fault.cause] ?? fault.cause}.
            Unread: {formatInteger(fault.unread)}.
          </List.Item>
        ))}
      </List>
      {more > 0 && <>And {formatInteger(more)} more in the last seven days.</>}
    </Alert>
  )
}

/** For views that do not follow the lag. */
export function LatestLogFaults() {
  const { data } = useQuery({
    queryKey: ['lag', 'faults'],
    // no such group: only the faults matter
    queryFn: () => resultOf(api.GET('/api/lag', { params: { query: { group: '-' } } })),
    refetchInterval: REFETCH_MS,
  })
  return <LogFaults faults={data?.faults ?? []} />
}
