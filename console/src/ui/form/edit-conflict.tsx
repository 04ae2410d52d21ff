import { Alert, Button, Group, Text } from '@mantine/core'
import { changedFields } from './changed-fields.ts'

type ConflictProps = {
  /** The edited and the current record; equal until the current one is loaded. */
  before: { version: number }
  latest: { version: number }
  onShow?: () => void
  onKeep?: () => void
}

/** Overwrites nothing until the user decides. */
export function EditConflict({ before, latest, onShow, onKeep }: ConflictProps) {
  const names = changedFields(before, latest)
  const isLoaded = latest.version !== before.version
  return (
    <Alert color="yellow" role="alert" title="Someone else changed this">
      <Text size="sm" mb="xs">
        Your change was not saved, so that theirs is not lost.{' '}
        {names.length > 0 && `They changed: ${names.join(', ')}.`}
      </Text>
      <Group gap="xs">
        {onShow && (
          <Button size="xs" variant="default" onClick={onShow} disabled={!isLoaded}>
            Discard mine and show theirs
          </Button>
        )}
        {onKeep && (
          <Button size="xs" variant="default" onClick={onKeep} disabled={!isLoaded}>
            Keep mine
          </Button>
        )}
      </Group>
      {onKeep && (
        <Text size="xs" mt={6}>
          “Keep mine” keeps what you typed. “Save” then overwrites their values in this form.
        </Text>
      )}
    </Alert>
  )
}
