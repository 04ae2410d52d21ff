import { Alert, Button, Stack, Switch, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { isConflict } from '../../api/client/errors.ts'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Confirm } from '../../ui/form/confirm.tsx'
import { LIMITS } from '../../wording/limits.ts'

type OnOffProps = {
  destination: Destination
  label: string
  /** For screen readers, if the label says too little. */
  ariaLabel?: string
  description?: string
  onSaved?: (destination: Destination) => void
}

/** Turning off cancels the deliveries that fall due meanwhile, so it asks for confirmation. */
export function OnOff({ destination, label, ariaLabel, description, onSaved }: OnOffProps) {
  const { name, enabled, paused = false } = destination
  const [opened, { open, close }] = useDisclosure()
  const replace = useReplaceDestination()
  const save = (changed: Partial<Destination>) =>
    replace.mutate(
      { ...destination, ...changed },
      {
        onSuccess(saved) {
          close()
          onSaved?.(saved)
        },
        // the destination was read again and shows its current state
        onError: (error) => isConflict(error) && close(),
      },
    )
  return (
    <Stack gap={4} align="flex-start">
      <Switch
        size="md"
        label={label}
        description={description}
        aria-label={ariaLabel}
        checked={enabled}
        onChange={() => (enabled ? open() : save({ enabled: true }))}
        disabled={replace.isPending}
      />
      {!opened && <SwitchError error={replace.error} />}
      <Confirm
        opened={opened}
        onClose={close}
        title={`Turn ${name} off?`}
        action={`Turn ${name} off`}
        danger
        onConfirm={() => save({ enabled: false })}
        loading={replace.isPending}
        error={replace.error}
      >
        <WhatTurningOffDoes paused={paused} />
        {!paused && <PauseInstead onPause={() => save({ paused: true })} disabled={replace.isPending} />}
      </Confirm>
    </Stack>
  )
}

const WhatTurningOffDoes = ({ paused }: { paused: boolean }) => (
  <Text size="sm">
    Sluice stops sending within a second. Deliveries that fall due while it is off are cancelled
    {paused && ', including held ones'}, and events that arrive meanwhile are not sent. Later, you can send
    these events with Replay. If a receiver is down, leave the destination on: Sluice retries
    {LIMITS.retryFor}.
  </Text>
)

const PauseInstead = ({ onPause, disabled }: { onPause: () => void; disabled: boolean }) => (
  <>
    <Text size="sm">
      To stop for a while without losing events, pause it: deliveries are held and sent after you resume it.
    </Text>
    <Button variant="default" onClick={onPause} disabled={disabled}>
      Pause it instead
    </Button>
  </>
)

/** Pausing loses nothing, so it asks for no confirmation. */
export function PauseButton({ destination }: { destination: Destination }) {
  const { enabled, paused = false } = destination
  const replace = useReplaceDestination()
  if (!enabled) return null
  return (
    <Stack gap={4} align="flex-start">
      <Button
        variant={paused ? 'filled' : 'default'}
        onClick={() => !replace.isPending && replace.mutate({ ...destination, paused: !paused })}
        // `loading` would disable the button, which would lose the focus
        aria-busy={replace.isPending}
      >
        {paused ? 'Resume' : 'Pause'}
      </Button>
      <SwitchError error={replace.error} />
    </Stack>
  )
}

function SwitchError({ error }: { error: unknown }) {
  if (!isConflict(error)) return <ErrorAlert error={error} />
  return (
    <Alert color="yellow" role="alert">
      Someone else just changed this destination. Check its current state and try again.
    </Alert>
  )
}
