import { Group, Stack, Text } from '@mantine/core'
import type { Destination } from '../../../api/destinations.ts'
import type { Health } from '../../../api/health.ts'
import { State } from '../../../ui/values/state-badge.tsx'
import { Since, When } from '../../../ui/values/when.tsx'
import { saidOf } from '../../../wording/error-codes.ts'
import { breakerOf, FAILED_LAST, rejectingOf } from '../../../wording/states.ts'
import { ofNow } from './webhook-health.ts'

type EndpointsParts = { destination: Destination; endpoints: Health['endpoints'] }

export function Endpoints({ destination: { webhooks, updatedAt }, endpoints }: EndpointsParts) {
  return (
    <Stack gap="md" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {endpoints.map((endpoint) => (
        <li key={endpoint.urlIndex}>
          <Endpoint endpoint={endpoint} url={webhooks[endpoint.urlIndex]?.url ?? ''} updatedAt={updatedAt} />
        </li>
      ))}
    </Stack>
  )
}

type EndpointParts = { endpoint: Health['endpoints'][number]; url: string; updatedAt: string }

function Endpoint({ endpoint, url, updatedAt }: EndpointParts) {
  const { state: status, breaker, since, lastError, lastDeliveredAt } = endpoint
  const { isErrorOfNow, isErrorOver, isDeliveredOfNow } = ofNow(endpoint, updatedAt)
  const isPressing = isErrorOfNow && !isErrorOver
  // the breaker opens only after several failures in a row
  const hasFailedLast = breaker === 'closed' && isPressing
  const isRejecting = status === 'rejecting' && isPressing
  const { says, ...state } = isRejecting
    ? rejectingOf(lastError?.status ?? null)
    : hasFailedLast
      ? FAILED_LAST
      : breakerOf(breaker)
  const before = (
    <>
      , before its settings were changed (<When at={updatedAt} short />)
    </>
  )
  return (
    <>
      <Group gap="sm">
        <Text size="sm" ff="monospace" className="in-flow">
          {url}
        </Text>
        <State {...state} says={says} />
        {since !== null && !hasFailedLast && (
          <Text size="xs" c="dimmed">
            <Since at={since} />
          </Text>
        )}
      </Group>
      {lastDeliveredAt !== null && (
        <Text size="sm" c="dimmed">
          Last delivered <Since at={lastDeliveredAt} />
          {!isDeliveredOfNow && before}.
        </Text>
      )}
      {lastError && (
        <Text size="sm" c={isPressing ? 'inherit' : 'dimmed'}>
          Last error, <When at={lastError.at} short />
          {!isErrorOfNow && before}: {lastError.code === null ? '' : saidOf(lastError.code).says}
          {lastError.status !== null && ` It answered ${lastError.status}.`}{' '}
          {isPressing && lastError.code !== null && <b>{saidOf(lastError.code).todo}</b>}
        </Text>
      )}
      {lastError?.response && isPressing && (
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
