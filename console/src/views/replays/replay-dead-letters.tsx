import { Alert, Button, List, Text } from '@mantine/core'
import { useState } from 'react'
import { useDestinations } from '../../api/destinations.ts'
import { type NewReplay, type ReplayRequest, type ReplayResult, useStartReplays } from '../../api/replays.ts'
import { newId } from '../../random.ts'
import { Confirm } from '../../ui/form/confirm.tsx'
import { useDestinationNames } from '../../ui/values/names.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { pluralize } from '../../wording/format.ts'
import { RateField } from './rate-field.tsx'
import { parseRate, type Skipped, startable } from './requests.ts'

export type Prepared = {
  requests: readonly NewReplay[]
  /** Such as "37 dead letters". */
  describe: (requests: readonly NewReplay[]) => string
  note?: string | undefined
}

const TEXTS = {
  dead: { title: 'Replay dead letters', action: 'Replay', verb: 'Replays' },
  deliveries: { title: 'Resend deliveries', action: 'Resend', verb: 'Sends' },
}

type ButtonProps = {
  kind?: keyof typeof TEXTS
  label: string
  /** For screen readers, if several buttons share a label. */
  name?: string
  /** Called on click: "Last hour" ends then. */
  prepare: () => Prepared | Promise<Prepared>
  disabled?: boolean
  onStarted?: () => void
}

type Dialog = Omit<DialogProps, 'kind' | 'onClose' | 'onStarted'>

export function ReplayButton({
  kind = 'dead',
  label,
  name,
  prepare,
  disabled = false,
  onStarted,
}: ButtonProps) {
  const { dialog, open, close, isPreparing } = useDialog(prepare)
  const [isStarted, setStarted] = useState(false)
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => !isPreparing && void open()}
        // `loading` would disable the button, and lose the focus that the dialog returns
        aria-busy={isPreparing}
        disabled={disabled}
        aria-label={name === undefined ? undefined : isStarted ? `${name} again (already started)` : name}
      >
        {isStarted ? 'Started' : label}
      </Button>
      {dialog && (
        <ReplayDialog
          {...dialog}
          kind={kind}
          onClose={close}
          onStarted={() => {
            close()
            setStarted(name !== undefined)
            onStarted?.()
          }}
        />
      )}
    </>
  )
}

function useDialog(prepare: ButtonProps['prepare']) {
  const destinations = useDestinations().data
  const [dialog, setDialog] = useState<Dialog>()
  const [isPreparing, setPreparing] = useState(false)
  async function open() {
    setPreparing(true)
    try {
      const { requests, describe, note } = await prepare()
      const { requests: possible, skipped } = startable(requests, destinations)
      // ids are fixed here: a second click in the dialog cannot start a second replay
      const named = possible.map((one) => ({ ...one, id: newId() }))
      setDialog({ requests: named, skipped, what: describe(possible), note })
    } catch (error) {
      setDialog({ requests: [], skipped: [], what: '', error })
    } finally {
      setPreparing(false)
    }
  }
  return { dialog, open, close: () => setDialog(undefined), isPreparing }
}

type DialogProps = {
  kind: keyof typeof TEXTS
  requests: readonly ReplayRequest[]
  skipped: readonly Skipped[]
  what: string
  note?: string | undefined
  error?: unknown
  onClose: () => void
  onStarted: () => void
}

/** If some replays cannot be started, only those are tried again. */
function ReplayDialog({ kind, requests, skipped, what, note, error = null, ...on }: DialogProps) {
  const { onClose, onStarted } = on
  const { title, action, verb } = TEXTS[kind]
  const [rate, setRate] = useState('500')
  const start = useStartReplays()
  const perSecond = parseRate(rate)
  const results = start.data ?? []
  const failed = results.filter(({ error }) => error !== undefined)
  const remaining = failed.length > 0 ? failed.map(({ request }) => request) : requests
  const [first] = requests
  const isSingle = requests.length === 1 && first?.entries?.length === 1

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
      title={title}
      action={failed.length > 0 ? 'Try these again' : action}
      onConfirm={confirm}
      loading={start.isPending}
      disabled={requests.length === 0 || perSecond === undefined}
      error={error}
    >
      {requests.length > 0 && <Summary requests={requests} verb={verb} what={what} />}
      <Period {...requests[0]} />
      <RulesNote requests={requests} />
      <PausedNote requests={requests} />
      {requests.length === 0 && skipped.length === 0 && !error && (
        <Text size="sm">There is nothing to send.</Text>
      )}
      {note && <Text size="sm">{note}</Text>}
      {skipped.length > 0 && <SkippedDestinations skipped={skipped} />}
      {failed.length > 0 && <Failures failed={failed} isAll={failed.length === results.length} />}
      {!isSingle && requests.length > 0 && <RateField value={rate} onChange={setRate} />}
    </Confirm>
  )
}

const MAX_NAMES = 5

function firstNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return `${names.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${pluralize(more, 'other')}` : ''}`
}

function Summary({ requests, verb, what }: Pick<DialogProps, 'requests' | 'what'> & { verb: string }) {
  const nameOf = useDestinationNames()
  const names = [...new Set(requests.map(({ destinationId }) => nameOf(destinationId)))]
  return (
    <Text size="sm">
      {verb} {what} to {firstNames(names)}, with the original X-Delivery-Id and X-Replay: true.
    </Text>
  )
}

/** Requests of one filter have the same period. */
function Period({ from, to }: Partial<ReplayRequest>) {
  if (from === undefined && to === undefined) return null
  return (
    <Text size="sm">
      Only those{' '}
      {from !== undefined && (
        <>
          since <Timestamp at={from} />
        </>
      )}
      {from !== undefined && to !== undefined && ' and '}
      {to !== undefined && (
        <>
          before <Timestamp at={to} />
        </>
      )}
      .
    </Text>
  )
}

function RulesNote({ requests }: Pick<DialogProps, 'requests'>) {
  const ruled = (useDestinations().data ?? []).filter(({ rules }) => rules !== undefined)
  if (!requests.some(({ destinationId }) => ruled.some(({ id }) => id === destinationId))) return null
  return (
    <Text size="sm" c="dimmed">
      Bodies are sent as they were stored, even if the rules have changed since. Dead letters whose rules
      failed use the current rules.
    </Text>
  )
}

/** A replay to a paused destination starts, but its deliveries are held. */
function PausedNote({ requests }: Pick<DialogProps, 'requests'>) {
  const nameOf = useDestinationNames()
  const ids = new Set(requests.map(({ destinationId }) => destinationId))
  const held = (useDestinations().data ?? []).filter(({ id, paused }) => paused && ids.has(id))
  if (held.length === 0) return null
  return (
    <Text size="sm">
      Paused: {firstNames(held.map(({ id }) => nameOf(id)))}. Deliveries to a paused destination are held and
      sent after it is resumed.
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
