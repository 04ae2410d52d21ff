import { Alert, List } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { answered, api } from '../../api/client.ts'
import type { components } from '../../api/schema.ts'
import { When } from '../../ui/values/when.tsx'
import { whole } from '../../wording/format.ts'

type Fault = components['schemas']['LogFault']

const CAUSES: Record<string, string> = {
  removed: 'deleted before they were read',
  truncated: 'lost from the end of the log',
  recreated: 'gone with a topic that was deleted and created again',
}
const MOST = 5
const EVERY_MS = 30_000

/** What Kafka has lost or removed; nothing when it has not. */
export function LogFaults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return null
  const more = faults.length - MOST
  return (
    <Alert color="red" role="alert" title="Kafka has lost records">
      Sluice goes on from the right place. These records are not in Kafka any more, and those that were unread
      have not been delivered:
      <List size="sm">
        {faults.slice(0, MOST).map((fault) => (
          <List.Item key={`${fault.topic}/${fault.partition}/${fault.from}/${fault.at}`}>
            <When at={fault.at} />: {whole(fault.lost)} of topic {fault.topic}, partition {fault.partition},
            from offset {whole(fault.from)}: {CAUSES[fault.cause] ?? fault.cause}. Unread:{' '}
            {whole(fault.unread)}.
          </List.Item>
        ))}
      </List>
      {more > 0 && <>And {whole(more)} more in the last seven days.</>}
    </Alert>
  )
}

/** Where how far consumers are behind is not followed. */
export function LatestLogFaults() {
  const { data } = useQuery({
    queryKey: ['lag', 'faults'],
    // of no group: only the faults are wanted
    queryFn: () => answered(api.GET('/api/lag', { params: { query: { group: '-' } } })),
    refetchInterval: EVERY_MS,
  })
  return <LogFaults faults={data?.faults ?? []} />
}
