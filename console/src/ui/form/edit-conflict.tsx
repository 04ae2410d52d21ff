import { Alert, Button, Group, Text } from '@mantine/core'
import { changedNames } from './changed-fields.ts'

type ChangedParts = {
  /** As it was when the change was begun, and as it is now: the same while that is being read. */
  before: { version: number }
  latest: { version: number }
  /** Undefined: it is shown elsewhere. */
  onShow?: () => void
  /** Undefined: there is nothing typed that could be kept. */
  onKeep?: () => void
}

/** Somebody else has saved the same record since it was read: nothing of theirs is overwritten unasked. */
export function ChangedMeanwhile({ before, latest, onShow, onKeep }: ChangedParts) {
  const names = changedNames(before, latest)
  const isRead = latest.version !== before.version
  return (
    <Alert color="yellow" role="alert" title="Somebody else has changed this meanwhile">
      <Text size="sm" mb="xs">
        Your change was not saved, so that theirs is not lost.{' '}
        {names.length > 0 && `They have changed: ${names.join(', ')}.`}
      </Text>
      <Group gap="xs">
        {onShow && (
          <Button size="xs" variant="default" onClick={onShow} disabled={!isRead}>
            Show what it is now
          </Button>
        )}
        {onKeep && (
          <Button size="xs" variant="default" onClick={onKeep} disabled={!isRead}>
            Keep mine
          </Button>
        )}
      </Group>
      {onKeep && (
        <Text size="xs" mt={6}>
          “Keep mine” leaves what you have typed as it is: “Save” then replaces theirs in this form.
        </Text>
      )}
    </Alert>
  )
}
