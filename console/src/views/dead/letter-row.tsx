import { Anchor, Button, Checkbox, Group, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Link } from 'wouter'
import type { DeadLetter } from '../../api/dead.ts'
import { useMayWrite } from '../../api/session.ts'
import { AttemptTable } from '../../parts/attempt-table.tsx'
import { State } from '../../parts/badge.tsx'
import { Json } from '../../parts/json.tsx'
import { When } from '../../parts/when.tsx'
import { saidOf } from '../../parts/words/codes.ts'
import { reasonOf } from '../../parts/words/outcomes.ts'
import { ReplayButton } from './replay-button.tsx'
import { ofLetters } from './wanted.ts'

type RowParts = { letter: DeadLetter; isChosen: boolean; onChoose: (isChosen: boolean) => void }

export function LetterRow({ letter, isChosen, onChoose }: RowParts) {
  const [opened, { toggle }] = useDisclosure()
  const mayWrite = useMayWrite()
  const { deliveryId, messageId, destinationId, reason, deadAt, attempts } = letter
  const code = attempts.at(-1)?.code ?? null
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
        <Table.Td>{destinationId}</Table.Td>
        <Table.Td>
          <State label={reasonOf(reason).label} color="red" says={reasonOf(reason).says} />
        </Table.Td>
        <Table.Td>
          <Text size="sm">{code === null ? 'no attempt was made' : saidOf(code).says}</Text>
        </Table.Td>
        <Table.Td>
          <Group gap={6} wrap="nowrap" justify="flex-end">
            <Button
              size="compact-sm"
              variant="default"
              onClick={toggle}
              aria-expanded={opened}
              aria-label={`Details of ${messageId}`}
            >
              {opened ? 'Less' : 'Details'}
            </Button>
            {mayWrite && (
              <ReplayButton
                label="Replay"
                name={`Replay ${messageId}`}
                wanted={ofLetters([letter])}
                what="this dead letter"
              />
            )}
          </Group>
        </Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr>
          <Table.Td colSpan={mayWrite ? 6 : 5}>
            <Stack gap="xs" pb="sm">
              <Text size="sm" className="in-flow">
                Delivery <b>{deliveryId}</b> of the event{' '}
                <Anchor
                  component={Link}
                  to={`/deliveries?messageId=${encodeURIComponent(messageId)}`}
                  size="sm"
                >
                  {messageId}
                </Anchor>
                . {reasonOf(reason).says}
              </Text>
              {attempts.length > 0 && <AttemptTable attempts={attempts} />}
              {letter.body === null ? (
                <Text size="sm" c="dimmed">
                  Its body is not kept any more.
                </Text>
              ) : (
                <Json value={letter.body} label="The body that was posted" />
              )}
            </Stack>
          </Table.Td>
        </Table.Tr>
      )}
    </>
  )
}
