import { Alert, List, Text } from '@mantine/core'
import { type Fault, Refused } from '../api/errors.ts'

type RefusalParts = {
  error: unknown
  /** Faults that stand at their fields already, by their pointers. */
  shown?: (pointer: string) => boolean
  title?: string
}

/** What the server says is wrong, and what to do. */
export function Refusal({ error, shown = () => false, title }: RefusalParts) {
  if (!error) return null
  const { message, faults } = wordsOf(error)
  const left = faults.filter(({ pointer }) => !shown(pointer))
  const isAllShown = faults.length > 0 && left.length === 0
  return (
    <Alert color="red" role="alert" title={isAllShown ? undefined : (title ?? 'That did not work')}>
      <Text size="sm">
        {isAllShown ? 'Something in the form is not right yet: each field says what.' : message}
      </Text>
      {left.length > 0 && (
        <List size="sm" mt={4}>
          {left.map((fault) => (
            <List.Item key={fault.pointer + fault.code}>
              {fault.pointer && <b>{placeOf(fault.pointer)}: </b>}
              {fault.message}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  )
}

/** `/webhooks/0/url` as a person counts. */
const placeOf = (pointer: string) =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => (/^\d+$/.test(part) ? Number(part) + 1 : part.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join(' ')

function wordsOf(error: unknown): { message: string; faults: readonly Fault[] } {
  if (error instanceof Refused) return error
  return { message: error instanceof Error ? error.message : String(error), faults: [] }
}
