import { Group, Stack, Text } from '@mantine/core'
import type { Destination } from '../../../api/destinations.ts'
import type { Health } from '../../../api/health.ts'
import { State } from '../../../parts/badge.tsx'
import { Since, When } from '../../../parts/when.tsx'
import { saidOf } from '../../../parts/words/codes.ts'
import { breakerOf } from '../../../parts/words/outcomes.ts'

type EndpointsParts = { destination: Destination; endpoints: Health['endpoints'] }

export function Endpoints({ destination: { webhooks }, endpoints }: EndpointsParts) {
  return (
    <Stack gap="md" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {endpoints.map((endpoint) => (
        <li key={endpoint.urlIndex}>
          <Endpoint endpoint={endpoint} url={webhooks[endpoint.urlIndex]?.url ?? ''} />
        </li>
      ))}
    </Stack>
  )
}

function Endpoint({ endpoint, url }: { endpoint: Health['endpoints'][number]; url: string }) {
  const { breaker, since, lastError, lastDeliveredAt } = endpoint
  const { says, ...state } = breakerOf(breaker)
  const isOver = lastError?.at && lastDeliveredAt ? lastError.at < lastDeliveredAt : false
  return (
    <>
      <Group gap="sm">
        <Text size="sm" ff="monospace" className="in-flow">
          {url}
        </Text>
        <State {...state} says={says} />
        {since !== null && (
          <Text size="xs" c="dimmed">
            <Since at={since} />
          </Text>
        )}
      </Group>
      {lastDeliveredAt !== null && (
        <Text size="sm" c="dimmed">
          Last delivered <Since at={lastDeliveredAt} />.
        </Text>
      )}
      {lastError && (
        <Text size="sm" c={isOver ? 'dimmed' : 'inherit'}>
          Last error, <When at={lastError.at} short />:{' '}
          {lastError.code === null ? '' : saidOf(lastError.code).says}
          {lastError.status !== null && ` It answered ${lastError.status}.`}{' '}
          {!isOver && lastError.code !== null && <b>{saidOf(lastError.code).todo}</b>}
        </Text>
      )}
      {lastError?.response && !isOver && (
        <Text size="xs" ff="monospace" c="dimmed" lineClamp={2} className="in-flow">
          {lastError.response}
        </Text>
      )}
      {!lastError && lastDeliveredAt === null && (
        <Text size="sm" c="dimmed">
          {says}
        </Text>
      )}
    </>
  )
}
