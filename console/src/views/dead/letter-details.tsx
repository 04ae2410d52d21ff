import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { DeadLetter } from '../../api/dead.ts'
import { AttemptTable } from '../../parts/attempt-table.tsx'
import { Json } from '../../parts/json.tsx'
import { reasonOf } from '../../parts/words/outcomes.ts'

export function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { deliveryId, messageId, reason, attempts, body } = letter
  return (
    <Stack gap="xs" pb="sm">
      <Text size="sm" className="in-flow">
        Delivery <b>{deliveryId}</b> of the event{' '}
        <Anchor component={Link} to={`/deliveries?messageId=${encodeURIComponent(messageId)}`} size="sm">
          {messageId}
        </Anchor>
        . {reasonOf(reason).says}
      </Text>
      {attempts.length > 0 && <AttemptTable attempts={attempts} />}
      {body === null ? (
        <Text size="sm" c="dimmed">
          Its body is not kept any more.
        </Text>
      ) : (
        <Json value={body} label="The body that was posted" />
      )}
    </Stack>
  )
}
