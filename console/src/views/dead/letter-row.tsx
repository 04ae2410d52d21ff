import { Button, Checkbox, Group, Stack, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { DeadLetter } from '../../api/dead.ts'
import { useMayWrite } from '../../api/session.ts'
import { State } from '../../parts/badge.tsx'
import { DestinationName } from '../../parts/names.tsx'
import { When } from '../../parts/when.tsx'
import { saidOf } from '../../parts/words/codes.ts'
import { afterwardsOf, reasonOf } from '../../parts/words/outcomes.ts'
import { LetterDetails } from './letter-details.tsx'
import { ReplayButton } from './replay-button.tsx'
import { ofLetters } from './wanted.ts'

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
