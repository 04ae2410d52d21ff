import { Alert, Button, List, Text } from '@mantine/core'
import { useState } from 'react'
import { useDestinations } from '../../api/destinations.ts'
import { type NewReplay, type ReplayRequest, type ReplayResult, useStartReplays } from '../../api/replays.ts'
import { Confirm } from '../../ui/form/confirm.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { pluralize } from '../../wording/format.ts'
import { RateField } from './rate-field.tsx'
import { newReplayId, parseRate, type Skipped, startable } from './requests.ts'

type ButtonProps = {
  label: string
  /** For screen readers, where several buttons have the same label. */
  name?: string
  /** Called on click, so that "Last hour" ends at that moment. */
  requests: () => readonly NewReplay[]
  what: string
  disabled?: boolean
  onStarted?: () => void
}

export function ReplayButton({ label, name, requests, what, disabled = false, onStarted }: ButtonProps) {
  const destinations = useDestinations().data
  const [dialog, setDialog] = useState<{ requests: ReplayRequest[]; skipped: Skipped[] }>()
  const [isStarted, setStarted] = useState(false)
  function open() {
    const { requests: possible, skipped } = startable(requests(), destinations)
    // the ids are fixed here, so that a second click in the dialog cannot start a second replay
    setDialog({ requests: possible.map((one) => ({ ...one, id: newReplayId() })), skipped })
  }
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        onClick={open}
        disabled={disabled}
        aria-label={name === undefined ? undefined : isStarted ? `${name} again (already started)` : name}
      >
        {isStarted ? 'Started' : label}
      </Button>
      {dialog && (
        <ReplayDialog
          {...dialog}
          what={what}
          onClose={() => setDialog(undefined)}
          onStarted={() => {
            setDialog(undefined)
            setStarted(name !== undefined)
            onStarted?.()
          }}
        />
      )}
    </>
  )
}

type DialogProps = {
  requests: readonly ReplayRequest[]
  skipped: readonly Skipped[]
  what: string
  onClose: () => void
  onStarted: () => void
}

/** Confirms a replay. If some replays cannot be started, only those are tried again. */
function ReplayDialog({ requests, skipped, what, onClose, onStarted }: DialogProps) {
  const [rate, setRate] = useState('500')
  const start = useStartReplays()
  const perSecond = parseRate(rate)
  const results = start.data ?? []
  const failed = results.filter(({ error }) => error !== undefined)
  const remaining = failed.length > 0 ? failed.map(({ request }) => request) : requests
  const isSingle = requests.length === 1 && requests[0]?.deliveryIds?.length === 1

  function confirm() {
    start.mutate(
      remaining.map((one) => ({ ...one, ...(perSecond !== undefined && { perSecond }) })),
      { onSuccess: (started) => started.every(({ error }) => error === undefined) && onStarted() },
    )
  }

  return (
    <Confirm
      opened
      onClose={onClose}
      title="Replay dead letters"
      action={failed.length > 0 ? 'Try these again' : 'Replay'}
      onConfirm={confirm}
      loading={start.isPending}
      disabled={requests.length === 0 || perSecond === undefined}
      error={null}
    >
      {requests.length > 0 && <Summary requests={requests} what={what} />}
      {skipped.length > 0 && <SkippedDestinations skipped={skipped} />}
      {failed.length > 0 && <Failures failed={failed} isAll={failed.length === results.length} />}
      {!isSingle && <RateField value={rate} onChange={setRate} />}
    </Confirm>
  )
}

const MAX_NAMES = 5

function Summary({ requests, what }: Pick<DialogProps, 'requests' | 'what'>) {
  const nameOf = useDestinationNames()
  const names = [...new Set(requests.map(({ destinationId }) => nameOf(destinationId)))]
  const more = names.length - MAX_NAMES
  return (
    <Text size="sm">
      Replays {what} to {names.slice(0, MAX_NAMES).join(', ')}
      {more > 0 && ` and ${pluralize(more, 'other')}`}, with the original X-Delivery-Id and X-Replay: true.
      Replayed dead letters stay in this list. If you replay them twice, they are sent twice.
    </Text>
  )
}

function SkippedDestinations({ skipped }: Pick<DialogProps, 'skipped'>) {
  const nameOf = useDestinationNames()
  return (
    <Alert color="yellow" title="Skipped">
      <List size="sm">
        {skipped.map(({ destinationId, why }) => (
          <List.Item key={destinationId}>
            {nameOf(destinationId)}: {why === 'off' ? 'it is off. Turn it on first' : 'it was deleted'}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}

function Failures({ failed, isAll }: { failed: readonly ReplayResult[]; isAll: boolean }) {
  const nameOf = useDestinationNames()
  return (
    <Alert
      color="red"
      role="alert"
      title={isAll ? 'The replay was not started' : 'Some replays were not started'}
    >
      <List size="sm">
        {failed.map(({ request: { id, destinationId }, error }) => (
          <List.Item key={id}>
            {nameOf(destinationId)}: {error instanceof Error ? error.message : String(error)}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}
