import { Box, Drawer, Group, Stack, Table, Text, Title } from '@mantine/core'
import { type DeliveryDetails, useDelivery } from '../../../api/deliveries.ts'
import { useDestination } from '../../../api/destinations.ts'
import { useMayManage } from '../../../api/session.ts'
import { Attempts } from '../../../ui/attempts/attempt-table.tsx'
import { Loaded } from '../../../ui/layout/loaded.tsx'
import { Json } from '../../../ui/values/code.tsx'
import { EventLink } from '../../../ui/values/event-link.tsx'
import { StateBadge } from '../../../ui/values/state-badge.tsx'
import { RelativeTime, Timestamp } from '../../../ui/values/time.tsx'
import { DELIVERY_STATES, deadReasonLabel } from '../../../wording/states.ts'
import { visible } from '../../../wording/visible.ts'
import { ReplayButton } from '../../replays/replay-dead-letters.tsx'
import { requestsForDeliveries, resendable } from '../../replays/requests.ts'
import { labelOf } from './delivery-table.tsx'

export function DeliveryDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  return (
    <Drawer
      opened={id !== undefined}
      onClose={onClose}
      position="right"
      size="xl"
      title="Delivery"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {id !== undefined && <Details key={id} id={id} />}
    </Drawer>
  )
}

function Details({ id }: { id: string }) {
  const query = useDelivery(id)
  return <Loaded query={query}>{(delivery) => <DeliveryView delivery={delivery} />}</Loaded>
}

function DeliveryView({ delivery }: { delivery: DeliveryDetails }) {
  const { messageId, deliveryId, destinationId, attempts, body, requests } = delivery
  const mayManage = useMayManage('destinations')
  const destination = useDestination(destinationId).data
  const urls = destination && {
    urls: requests.map(({ url }) => url),
    since: destination.updatedAt,
  }
  return (
    <Stack>
      <Group justify="space-between" align="flex-start">
        <DeliveryHeading delivery={delivery} />
        <Group gap="xs">
          <StateBadge {...labelOf(delivery)} />
          {mayManage && <Resend delivery={delivery} />}
        </Group>
      </Group>
      <StateText delivery={delivery} />
      <Ids messageId={messageId} deliveryId={deliveryId} />
      <Section title="Attempts and responses">
        {attempts.length > 0 ? (
          <Attempts attempts={attempts} urls={urls} />
        ) : (
          <Text size="sm" c="dimmed">
            No attempts are known.
          </Text>
        )}
      </Section>
      <Section title="Request">
        {requests.map((request) => (
          <RequestHead key={request.urlIndex} {...request} />
        ))}
        {requests.length === 0 && (
          <Text size="sm" c="dimmed">
            The destination was deleted, so its URLs and headers are not known.
          </Text>
        )}
        <Json value={body} label="Request body" />
      </Section>
    </Stack>
  )
}

const DeliveryHeading = ({
  delivery: { event, type, user, replay, routedAt },
}: {
  delivery: DeliveryDetails
}) => (
  <Box>
    <Title order={3} size="h4" className="in-flow">
      {visible(event ?? type)}
    </Title>
    <Text size="sm" c="dimmed" className="in-flow">
      {type} of {visible(user ?? 'no user')}, {replay ? 'replayed' : 'made'} <Timestamp at={routedAt} />
    </Text>
  </Box>
)

const Section = ({ title, children }: { title: string; children: React.ReactNode }) => (
  <Stack gap="xs" component="section" aria-label={title}>
    <Title order={4} size="h5">
      {title}
    </Title>
    {children}
  </Stack>
)

function Resend({ delivery }: { delivery: DeliveryDetails }) {
  const sent = resendable([delivery])
  if (sent.length === 0) return null
  return (
    <ReplayButton
      kind="deliveries"
      label="Resend"
      name={`Resend ${delivery.messageId}`}
      prepare={() => ({ requests: requestsForDeliveries(sent), describe: () => 'this delivery' })}
    />
  )
}

function StateText({ delivery: { state, nextAttemptAt, dead } }: { delivery: DeliveryDetails }) {
  if (nextAttemptAt !== null)
    return (
      <Text size="sm">
        Next attempt <RelativeTime at={nextAttemptAt} /> (<Timestamp at={nextAttemptAt} />
        ).
      </Text>
    )
  if (state === 'deferred')
    return (
      <Text size="sm">
        The delivery waits for the webhook. The next attempt follows as soon as the webhook answers again.
      </Text>
    )
  if (state === 'held') return <Text size="sm">{DELIVERY_STATES.held.explanation}</Text>
  if (dead)
    return (
      <Text size="sm">
        {deadReasonLabel(dead.reason).explanation} {dead.code !== null && `Code: ${dead.code}. `}It ended{' '}
        <Timestamp at={dead.deadAt} />.
      </Text>
    )
  return null
}

function Ids({ messageId, deliveryId }: Pick<DeliveryDetails, 'messageId' | 'deliveryId'>) {
  return (
    <Text size="xs" c="dimmed" ff="monospace" className="in-flow">
      Message <EventLink messageId={messageId} size="xs" />
      <br />
      X-Delivery-Id: {visible(deliveryId)}
    </Text>
  )
}

function RequestHead({ url, headers }: DeliveryDetails['requests'][number]) {
  return (
    <div>
      <Text size="sm" ff="monospace" className="in-flow">
        POST {visible(url)}
      </Text>
      <Table fz="xs" verticalSpacing={2} aria-label={`Headers to ${url}`}>
        <Table.Tbody>
          {Object.entries(headers).map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" fw={500} className="in-flow">
                {name}
              </Table.Th>
              <Table.Td ff="monospace" className="in-flow">
                {visible(value)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}
