import { Alert, Button, Text } from '@mantine/core'

/** Somebody else has saved the same record since it was read: nothing of theirs is overwritten. */
export function ChangedMeanwhile({ onReload }: { onReload: () => void }) {
  return (
    <Alert color="yellow" role="alert" title="Somebody else has changed this meanwhile">
      <Text size="sm" mb="xs">
        Your change was not saved, so that theirs is not lost. Look at what it is now, and make your change on
        that.
      </Text>
      <Button size="xs" variant="default" onClick={onReload}>
        Show what it is now
      </Button>
    </Alert>
  )
}
