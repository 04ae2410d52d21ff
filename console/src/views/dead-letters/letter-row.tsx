import { Anchor, Button, Checkbox, Group, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from 'wouter'
import type { DeadLetter } from '../../api/dead-letters.ts'
import { useMayWrite } from '../../api/session.ts'
import { AttemptTable } from '../../ui/attempts/attempt-table.tsx'
import { Json } from '../../ui/values/code.tsx'
import { DestinationName } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { errorText } from '../../wording/error-codes.ts'
import { deadReasonLabel, replayOutcomeLabel } from '../../wording/states.ts'
import { ReplayButton } from '../replays/replay-dead-letters.tsx'
import { requestsForLetters } from '../replays/requests.ts'

type RowProps = { letter: DeadLetter; isSelected: boolean; onSelect: (isSelected: boolean) => void }

export function LetterRow({ letter, isSelected, onSelect }: RowProps) {
  const [opened, { toggle }] = useDisclosure()
  const mayWrite = useMayWrite()
  const { messageId, destinationId, reason, deadAt, attempts, afterwards } = letter
  const { code = null, status = null } = attempts.at(-1) ?? {}
  return (
    <>
      <Table.Tr>
        {mayWrite && (
          <Table.Td>
            <Checkbox
              aria-label={`Select ${messageId}`}
              checked={isSelected}
              onChange={(event) => onSelect(event.currentTarget.checked)}
            />
          </Table.Td>
        )}
        <Table.Td>
          <Timestamp at={deadAt} short />
        </Table.Td>
        <Table.Td className="in-flow">
          <DestinationName id={destinationId} />
        </Table.Td>
        <Table.Td>
          <Stack gap={4} align="flex-start">
            <StateBadge {...deadReasonLabel(reason)} />
            {afterwards && <StateBadge {...replayOutcomeLabel(afterwards.outcome)} />}
          </Stack>
        </Table.Td>
        <Table.Td>
          <Text size="sm">
            {code === null ? 'No attempt was made.' : errorText(code).meaning}
            {status !== null && ` Status ${status}.`}
          </Text>
        </Table.Td>
        <Table.Td>
          <Group gap={6} wrap="nowrap" justify="flex-end">
            <Button
              size="compact-sm"
              variant="default"
              onClick={toggle}
              aria-expanded={opened}
              aria-label={`${opened ? 'Hide details' : 'Details'} of ${messageId}`}
            >
              {opened ? 'Hide' : 'Details'}
            </Button>
            {mayWrite && (
              <ReplayButton
                label="Replay"
                name={`Replay ${messageId}`}
                requests={() => requestsForLetters([letter])}
                what="this dead letter"
              />
            )}
          </Group>
        </Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr>
          <Table.Td colSpan={mayWrite ? 6 : 5}>
            <LetterDetails letter={letter} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  )
}

function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { deliveryId, messageId, reason, attempts, body } = letter
  return (
    <Stack gap="xs" pb="sm">
      <Text size="sm" className="in-flow">
        Delivery <b>{deliveryId}</b> of the event{' '}
        <Anchor component={Link} to={`/deliveries?messageId=${encodeURIComponent(messageId)}`} size="sm">
          {messageId}
        </Anchor>
        . {deadReasonLabel(reason).explanation}
      </Text>
      {attempts.length > 0 && <AttemptTable attempts={attempts} />}
      {body === null ? (
        <Text size="sm" c="dimmed">
          The body is no longer stored.
        </Text>
      ) : (
        <Json value={body} label="Request body" />
      )}
    </Stack>
  )
}
