import { Anchor, Group, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Destination } from '../../../api/destinations.ts'
import type { Health } from '../../../api/health.ts'
import { StateBadge } from '../../../ui/values/state-badge.tsx'
import { RelativeTime, Timestamp } from '../../../ui/values/time.tsx'
import { Url } from '../../../ui/values/url.tsx'
import { errorText } from '../../../wording/error-codes.ts'
import { type Label, stoppedLabel, WEBHOOK_STATES, withStatus } from '../../../wording/states.ts'
import { visible } from '../../../wording/visible.ts'
import { webhookHealth } from './webhook-health.ts'

type ListProps = { destination: Destination; endpoints: Health['endpoints'] }

export function WebhookList({ destination, endpoints }: ListProps) {
  const { id, name, webhooks, updatedAt } = destination
  const hasFailed = endpoints.some(({ lastError }) => lastError !== null)
  return (
    <Stack gap="md" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {endpoints.map((webhook) => (
        <li key={webhook.urlIndex}>
          <Webhook
            webhook={webhook}
            url={webhooks[webhook.urlIndex]?.url ?? ''}
            updatedAt={updatedAt}
            stopped={stoppedLabel(destination)}
          />
        </li>
      ))}
      {hasFailed && (
        <Text component="li" size="sm">
          Deliveries that ended without success are among the{' '}
          <Anchor
            component={Link}
            to={`/dead?destinationId=${encodeURIComponent(id)}`}
            size="sm"
            underline="always"
          >
            dead letters of {visible(name)}
          </Anchor>
          . Replay them once the webhook accepts requests.
        </Text>
      )}
    </Stack>
  )
}

type WebhookProps = {
  webhook: Health['endpoints'][number]
  url: string
  updatedAt: string
  stopped: Label | undefined
}

function Webhook({ webhook, url, updatedAt, stopped }: WebhookProps) {
  const { state, breaker, since, lastError, lastDeliveredAt } = webhook
  const { isErrorCurrent, isErrorOver, isDeliveryCurrent } = webhookHealth(webhook, updatedAt)
  const isFailing = isErrorCurrent && !isErrorOver
  const label = stopped ?? withStatus(WEBHOOK_STATES[state], state === 'rejecting' ? lastError?.status : null)
  return (
    <>
      <Group gap="sm">
        <Text size="sm" ff="monospace">
          <Url>{url}</Url>
        </Text>
        <StateBadge {...label} />
        {/* the breaker's `since`: it opens only after several failures in a row */}
        {since !== null && !stopped && !(breaker === 'closed' && isFailing) && (
          <Text size="xs" c="dimmed">
            since <Timestamp at={since} short />
          </Text>
        )}
      </Group>
      {lastDeliveredAt !== null && (
        <Text size="sm" c="dimmed">
          Last delivered <RelativeTime at={lastDeliveredAt} />
          {!isDeliveryCurrent && <BeforeChange at={updatedAt} />}.
        </Text>
      )}
      {lastError && (
        <LastError
          lastError={lastError}
          isErrorCurrent={isErrorCurrent}
          isFailing={isFailing}
          updatedAt={updatedAt}
        />
      )}
      {!lastError && lastDeliveredAt === null && (
        <Text size="sm" c="dimmed">
          {label.explanation}
        </Text>
      )}
    </>
  )
}

type ErrorProps = {
  lastError: NonNullable<Health['endpoints'][number]['lastError']>
  isErrorCurrent: boolean
  /** Only persistent errors get advice. */
  isFailing: boolean
  updatedAt: string
}

function LastError({ lastError, isErrorCurrent, isFailing, updatedAt }: ErrorProps) {
  const { at, code, status, response } = lastError
  const text = code === null ? undefined : errorText(code)
  return (
    <>
      <Text size="sm" c={isFailing ? 'inherit' : 'dimmed'}>
        Last error at <Timestamp at={at} short />
        {!isErrorCurrent && <BeforeChange at={updatedAt} />}: {text?.meaning}
        {status !== null && ` Status ${status}.`} {isFailing && text && <b>{text.advice}</b>}
      </Text>
      {response && isFailing && (
        <Text size="xs" ff="monospace" c="dimmed" lineClamp={2} className="in-flow">
          {visible(response)}
        </Text>
      )}
    </>
  )
}

function BeforeChange({ at }: { at: string }) {
  return (
    <>
      , before the settings changed (<Timestamp at={at} short />)
    </>
  )
}
