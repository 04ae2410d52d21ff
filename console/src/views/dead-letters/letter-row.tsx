import { Anchor, Button, Checkbox, Group, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from 'wouter'
import type { DeadLetter } from '../../api/dead-letters.ts'
import { useMayWrite } from '../../api/session.ts'
import { AttemptTable } from '../../ui/attempts/attempt-table.tsx'
import { Json } from '../../ui/values/code.tsx'
import { DestinationName } from '../../ui/values/names.tsx'
import { State } from '../../ui/values/state-badge.tsx'
import { When } from '../../ui/values/when.tsx'
import { saidOf } from '../../wording/error-codes.ts'
import { afterwardsOf, reasonOf } from '../../wording/states.ts'
import { ReplayButton } from '../replays/replay-dead-letters.tsx'
import { ofLetters } from '../replays/requests.ts'

type RowParts = { letter: DeadLetter; isChosen: boolean; onChoose: (isChosen: boolean) => void }

export function LetterRow({ letter, isChosen, onChoose }: RowParts) {
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
              checked={isChosen}
              onChange={(event) => onChoose(event.currentTarget.checked)}
            />
          </Table.Td>
        )}
        <Table.Td>
          <When at={deadAt} short />
        </Table.Td>
        <Table.Td className="in-flow">
          <DestinationName id={destinationId} />
        </Table.Td>
        <Table.Td>
          <Stack gap={4} align="flex-start">
            <State label={reasonOf(reason).label} color="red" says={reasonOf(reason).says} />
            {afterwards && <State {...afterwardsOf(afterwards.outcome)} />}
          </Stack>
        </Table.Td>
        <Table.Td>
          <Text size="sm">
            {code === null ? 'no attempt was made' : saidOf(code).says}
            {status !== null && ` It answered ${status}.`}
          </Text>
        </Table.Td>
        <Table.Td>
          <Group gap={6} wrap="nowrap" justify="flex-end">
            <Button
              size="compact-sm"
              variant="default"
              onClick={toggle}
              aria-expanded={opened}
              aria-label={`${opened ? 'Less' : 'Details'} of ${messageId}`}
            >
              {opened ? 'Less' : 'Details'}
            </Button>
            {mayWrite && (
              <ReplayButton
                label="Replay"
                name={`Replay ${messageId}`}
                wanted={() => ofLetters([letter])}
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
