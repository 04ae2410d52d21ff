import { Alert, Button, List, Text } from '@mantine/core'
import { useState } from 'react'
import { useDestinations } from '../../api/destinations.ts'
import { type NamedReplay, type NewReplay, useBeginReplays } from '../../api/replays.ts'
import { Confirm } from '../../ui/form/confirm.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { counted } from '../../wording/format.ts'
import { PerSecond } from './rate-field.tsx'
import { type LeftOut, newReplayId, perSecondOf, possible } from './requests.ts'

type ReplayParts = {
  label: string
  /** For screen readers, where several have the same label. */
  name?: string
  /** Asked for when the button is used: of "the last hour" it is the one before that. */
  wanted: () => readonly NewReplay[]
  /** What is sent again, in words. */
  what: string
  disabled?: boolean
  onBegun?: () => void
}

/** Asks, and begins a replay for each destination. */
export function ReplayButton({ label, name, wanted, what, disabled = false, onBegun }: ReplayParts) {
  const destinations = useDestinations().data
  const [asked, setAsked] = useState<{ all: NamedReplay[]; leftOut: LeftOut[] }>()
  const [isBegun, setBegun] = useState(false)
  function ask() {
    const { wanted: all, leftOut } = possible(wanted(), destinations)
    // of one question, however often it is answered, comes one replay
    setAsked({ all: all.map((one) => ({ ...one, id: newReplayId() })), leftOut })
  }
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        onClick={ask}
        disabled={disabled}
        aria-label={name === undefined ? undefined : isBegun ? `${name} again: it has begun` : name}
      >
        {isBegun ? 'Begun' : label}
      </Button>
      {asked && (
        <ReplayDialog
          {...asked}
          what={what}
          onClose={() => setAsked(undefined)}
          onBegun={() => {
            setAsked(undefined)
            setBegun(name !== undefined)
            onBegun?.()
          }}
        />
      )}
    </>
  )
}

type DialogParts = {
  all: readonly NamedReplay[]
  leftOut: readonly LeftOut[]
  what: string
  onClose: () => void
  onBegun: () => void
}

/** What would be sent to whom; and, of several, which could not be begun: those alone are tried again. */
export function ReplayDialog({ all, leftOut, what, onClose, onBegun }: DialogParts) {
  const nameOf = useDestinationNames()
  const [typed, setTyped] = useState('500')
  const begin = useBeginReplays()
  const perSecond = perSecondOf(typed)
  const failed = (begin.data ?? []).filter(({ error }) => error !== undefined)
  const left = failed.length > 0 ? failed.map(({ wanted }) => wanted) : all
  const names = [...new Set(all.map(({ destinationId }) => nameOf(destinationId)))]
  const isOne = all.length === 1 && all[0]?.deliveryIds?.length === 1

  function confirmed() {
    begin.mutate(
      left.map((one) => ({ ...one, ...(perSecond !== undefined && { perSecond }) })),
      { onSuccess: (begun) => begun.every(({ error }) => error === undefined) && onBegun() },
    )
  }

  return (
    <Confirm
      opened
      onClose={onClose}
      title="Replay dead letters"
      action={failed.length > 0 ? 'Try these again' : 'Replay'}
      onConfirm={confirmed}
      loading={begin.isPending}
      disabled={all.length === 0 || perSecond === undefined}
      error={null}
    >
      {all.length > 0 && (
        <Text size="sm">
          Sends {what} again to {names.slice(0, 5).join(', ')}
          {names.length > 5 && ` and ${counted(names.length - 5, 'other')}`}, with the same X-Delivery-Id as
          before and X-Replay: true. They stay among the dead letters: replayed twice, they are sent twice.
        </Text>
      )}
      {leftOut.length > 0 && (
        <Alert color="yellow" title="Left out">
          <List size="sm">
            {leftOut.map(({ destinationId, why }) => (
              <List.Item key={destinationId}>
                {nameOf(destinationId)}: {why === 'off' ? 'it is off. Turn it on first' : 'it was deleted'}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      {failed.length > 0 && (
        <Alert
          color="red"
          role="alert"
          title={failed.length < (begin.data?.length ?? 0) ? 'Not begun; the others are' : 'Not begun'}
        >
          <List size="sm">
            {failed.map(({ wanted: { id, destinationId }, error }) => (
              <List.Item key={id}>
                {nameOf(destinationId)}: {error instanceof Error ? error.message : String(error)}
              </List.Item>
            ))}
          </List>
        </Alert>
      )}
      {!isOne && <PerSecond value={typed} onChange={setTyped} />}
    </Confirm>
  )
}
