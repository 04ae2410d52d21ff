import { Alert, List, Text } from '@mantine/core'
import { ApiError, type Fault } from '../api/client/errors.ts'
import { visible } from '../wording/visible.ts'

type ErrorAlertProps = {
  error: unknown
  /** Whether a field already shows this pointer's fault. */
  shown?: (pointer: string) => boolean
  title?: string
}

/** Includes the faults that no field shows. */
export function ErrorAlert({ error, shown = () => false, title }: ErrorAlertProps) {
  if (!error) return null
  const { message, faults } = detailsOf(error)
  const remaining = faults.filter(({ pointer }) => !shown(pointer))
  const isAllShown = faults.length > 0 && remaining.length === 0
  return (
    <Alert color="red" role="alert" title={isAllShown ? undefined : (title ?? 'Something went wrong')}>
      <Text size="sm">
        {isAllShown ? 'Some fields need attention. See the messages below each field.' : visible(message)}
      </Text>
      {remaining.length > 0 && (
        <List size="sm" mt={4}>
          {remaining.map((fault) => (
            <List.Item key={fault.pointer + fault.code}>
              {fault.pointer && <b>{fieldLabel(fault.pointer)}: </b>}
              {visible(fault.message)}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  )
}

/** Turns `/webhooks/0/url` into `webhooks 1 url`. */
const fieldLabel = (pointer: string) =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => (/^\d+$/.test(part) ? Number(part) + 1 : part.replaceAll('~1', '/').replaceAll('~0', '~')))
    .join(' ')

function detailsOf(error: unknown): { message: string; faults: readonly Fault[] } {
  if (error instanceof ApiError) return error
  return { message: error instanceof Error ? error.message : String(error), faults: [] }
}
