import { Alert, Stack, Switch, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { isConflict } from '../../api/errors.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { Confirm } from '../../ui/form/confirm.tsx'

type OnOffParts = {
  destination: Destination
  /** Beside the switch. */
  label: string
  /** For screen readers, where the label alone says too little. */
  spoken?: string
  description?: string
  onSaved?: (destination: Destination) => void
}

/** Off is no pause: what waits is given up, so that it is asked for twice. */
export function OnOff({ destination, label, spoken, description, onSaved }: OnOffParts) {
  const { name, enabled } = destination
  const [opened, { open, close }] = useDisclosure()
  const replace = useReplaceDestination()
  const turn = (on: boolean) =>
    replace.mutate(
      { ...destination, enabled: on },
      {
        onSuccess(saved) {
          close()
          onSaved?.(saved)
        },
        // it is read anew, and shown as it is now
        onError: (error) => isConflict(error) && close(),
      },
    )
  return (
    <Stack gap={4} align="flex-start">
      <Switch
        size="md"
        label={label}
        description={description}
        aria-label={spoken}
        checked={enabled}
        onChange={() => (enabled ? open() : turn(true))}
        disabled={replace.isPending}
      />
      {!opened && <NotTurned error={replace.error} />}
      <Confirm
        opened={opened}
        onClose={close}
        title={`Turn ${name} off?`}
        action={`Turn ${name} off`}
        danger
        onConfirm={() => turn(false)}
        loading={replace.isPending}
        error={replace.error}
      >
        <Text size="sm">
          This is no pause: what is still waiting for it is given up within a second, and what comes in
          meanwhile is not sent to it. Leave it on while a receiver is down; events are retried for four
          hours.
        </Text>
      </Confirm>
    </Stack>
  )
}

function NotTurned({ error }: { error: unknown }) {
  if (!isConflict(error)) return <Refusal error={error} />
  return (
    <Alert color="yellow" role="alert">
      Somebody else has just changed it: it is shown as it is now. Look, and try again.
    </Alert>
  )
}
