import { Box, Button, Checkbox, Flex, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { DeadLetter } from '../../api/dead-letters.ts'
import { useMayManage } from '../../api/session.ts'
import { AttemptTable } from '../../ui/attempts/attempt-table.tsx'
import { Json } from '../../ui/values/code.tsx'
import { EventLink } from '../../ui/values/event-link.tsx'
import { DestinationName } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { errorText } from '../../wording/error-codes.ts'
import { deadReasonLabel, replayLabel } from '../../wording/states.ts'
import { visible } from '../../wording/visible.ts'
import { ReplayButton } from '../replays/replay-dead-letters.tsx'
import { requestsForLetters } from '../replays/requests.ts'

type RowProps = { letter: DeadLetter; isSelected: boolean; onSelect: (isSelected: boolean) => void }

export function LetterRow({ letter, isSelected, onSelect }: RowProps) {
  const [opened, { toggle }] = useDisclosure()
  const mayManage = useMayManage('destinations')
  const { messageId, destinationId, deadAt } = letter
  return (
    <>
      <Table.Tr>
        {mayManage && (
          <Table.Td>
            <Checkbox
              aria-label={`Select ${messageId}`}
              checked={isSelected}
              onChange={(event) => onSelect(event.currentTarget.checked)}
            />
          </Table.Td>
        )}
        <Table.Td visibleFrom="sm">
          <Timestamp at={deadAt} short />
        </Table.Td>
        <Table.Td className="in-flow" visibleFrom="sm">
          <DestinationName id={destinationId} />
        </Table.Td>
        <Table.Td className="in-flow">
          <Subject letter={letter} />
          <OnNarrowScreens letter={letter} />
        </Table.Td>
        <Table.Td visibleFrom="sm">
          <Badges letter={letter} />
        </Table.Td>
        <Table.Td visibleFrom="sm">
          <LastError letter={letter} />
        </Table.Td>
        <Table.Td>
          <Actions letter={letter} opened={opened} onToggle={toggle} />
        </Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr>
          <Table.Td colSpan={mayManage ? 7 : 6}>
            <LetterDetails letter={letter} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  )
}

const Subject = ({ letter: { event, user, messageId } }: { letter: DeadLetter }) => (
  <>
    <Text size="sm">{visible(event ?? 'No name')}</Text>
    <Text size="xs" c="dimmed">
      {visible(user ?? 'No user')}
    </Text>
    <Text size="xs" c="dimmed" ff="monospace">
      {visible(messageId)}
    </Text>
  </>
)

type ActionsProps = { letter: DeadLetter; opened: boolean; onToggle: () => void }

function Actions({ letter, opened, onToggle }: ActionsProps) {
  const mayManage = useMayManage('destinations')
  const { messageId } = letter
  return (
    <Flex gap={6} justify="flex-end" align="flex-end" direction={{ base: 'column', sm: 'row' }}>
      <Button
        size="compact-sm"
        variant="default"
        onClick={onToggle}
        aria-expanded={opened}
        aria-label={`${opened ? 'Hide details' : 'Details'} of ${messageId}`}
      >
        {opened ? 'Hide' : 'Details'}
      </Button>
      {mayManage && (
        <ReplayButton
          label="Replay"
          name={`Replay ${messageId}`}
          prepare={() => ({
            requests: requestsForLetters([letter]),
            describe: () => 'this dead letter',
            note: letter.replayed ? 'It was replayed before, so this sends it again.' : undefined,
          })}
        />
      )}
    </Flex>
  )
}

/** The columns that narrow screens leave out. */
const OnNarrowScreens = ({ letter }: { letter: DeadLetter }) => (
  <Box hiddenFrom="sm">
    <Text size="xs" c="dimmed" component="div">
      <DestinationName id={letter.destinationId} />, <Timestamp at={letter.deadAt} short />
    </Text>
    <Badges letter={letter} />
    <LastError letter={letter} />
  </Box>
)

const Badges = ({ letter: { reason, afterwards, replayed } }: { letter: DeadLetter }) => (
  <Stack gap={4} align="flex-start">
    <StateBadge {...deadReasonLabel(reason)} />
    {(afterwards ?? replayed) && <StateBadge {...replayLabel(afterwards?.outcome)} />}
  </Stack>
)

function LastError({ letter: { attempts, code: rulesCode } }: { letter: DeadLetter }) {
  const { code = null, status = null } = attempts.at(-1) ?? {}
  return (
    <Text size="sm">
      {code === null ? 'No attempt was made.' : errorText(code).meaning}
      {rulesCode !== null && ` Code: ${rulesCode}.`}
      {status !== null && ` Status ${status}.`}
    </Text>
  )
}

function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { deliveryId, messageId, reason, attempts, body } = letter
  return (
    <Stack gap="xs" pb="sm">
      <Text size="sm" className="in-flow">
        Delivery <b>{visible(deliveryId)}</b> of the event <EventLink messageId={messageId} />.{' '}
        {deadReasonLabel(reason).explanation}
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
