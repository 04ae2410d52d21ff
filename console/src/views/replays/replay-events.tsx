import { Anchor, Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { Link } from 'wouter'
import { serverNow } from '../../api/client/clock.ts'
import type { Destination } from '../../api/destinations.ts'
import { useStartReplays } from '../../api/replays.ts'
import { newId } from '../../random.ts'
import { Confirm } from '../../ui/form/confirm.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { LAST_PERIODS, MAX_LOCAL_INPUT } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { RateField } from './rate-field.tsx'
import { ReplayList } from './replay-list.tsx'
import { parseRate, periodOf } from './requests.ts'

export function ReplayEvents({ destination }: { destination: Destination }) {
  return (
    <Stack>
      <Panel
        title="Replay events"
        lead={`Sends past events from the connected sources to ${visible(destination.name)}, using its current settings and rules. Use it to fill a new destination, or after the destination was off. Events that were already delivered are sent again with the same X-Delivery-Id.`}
      >
        <ReplayForm destination={destination} />
      </Panel>
      <ReplayList destinationId={destination.id} />
    </Stack>
  )
}

function ReplayForm({ destination: { id, name } }: { destination: Destination }) {
  const [choice, setChoice] = useState('1')
  const [typed, setTyped] = useState({ from: '', to: '' })
  const [rate, setRate] = useState('500')
  const { pending, ask, confirm, isStarted, dialog } = useReplay(id)
  const period = periodOf(choice, typed, serverNow())
  const perSecond = parseRate(rate)
  return (
    <Stack>
      <Group align="flex-start">
        <PeriodFields choice={choice} onChoose={setChoice} typed={typed} onType={setTyped} />
        <RateField value={rate} onChange={setRate} />
      </Group>
      <DeadLettersHint id={id} name={name} />
      <Group>
        <Button onClick={() => period && ask(period)} disabled={!period || perSecond === undefined}>
          Replay events
        </Button>
        <Text size="sm" role="status">
          {isStarted && 'Started. See the progress below.'}
        </Text>
      </Group>
      <Confirm
        {...dialog}
        title={`Replay events to ${name}?`}
        action="Replay"
        onConfirm={() => confirm(perSecond)}
      >
        <Text size="sm">
          Sends all events from the connected sources between <Timestamp at={pending.from || null} /> and{' '}
          <Timestamp at={pending.to || null} /> to {visible(name)}, at up to {perSecond} per second. This
          includes events that were already delivered.
        </Text>
      </Confirm>
    </Stack>
  )
}

type Period = { from: string; to: string }

function useReplay(destinationId: string) {
  const [pending, setPending] = useState({ replayId: '', from: '', to: '' })
  const [opened, { open, close }] = useDisclosure()
  const start = useStartReplays()
  const failed = start.data?.find(({ error }) => error !== undefined)

  function ask(period: Period) {
    // fixed here: a second click in the dialog cannot start a second replay
    setPending({ replayId: newId(), ...period })
    start.reset()
    open()
  }

  function confirm(perSecond: number | undefined) {
    const { replayId, from, to } = pending
    const request = { id: replayId, destinationId, what: 'events' as const, from, to }
    start.mutate([{ ...request, ...(perSecond !== undefined && { perSecond }) }], {
      onSuccess: ([started]) => started?.error === undefined && close(),
    })
  }

  return {
    pending,
    ask,
    confirm,
    isStarted: start.data !== undefined && !failed,
    dialog: { opened, onClose: close, loading: start.isPending, error: failed?.error },
  }
}

const DeadLettersHint = ({ id, name }: Pick<Destination, 'id' | 'name'>) => (
  <Text size="sm">
    To send only deliveries that were rejected or given up, replay the{' '}
    <Anchor component={Link} to={`/dead?destinationId=${encodeURIComponent(id)}`} size="sm">
      dead letters of {visible(name)}
    </Anchor>
    .
  </Text>
)

type PeriodProps = {
  choice: string
  onChoose: (choice: string) => void
  typed: Period
  onType: (typed: Period) => void
}

function PeriodFields({ choice, onChoose, typed, onType }: PeriodProps) {
  return (
    <>
      <NativeSelect
        label="Period"
        value={choice}
        onChange={(event) => onChoose(event.currentTarget.value)}
        data={[...LAST_PERIODS, { value: 'custom', label: 'Custom' }]}
      />
      {choice === 'custom' &&
        (['from', 'to'] as const).map((end) => (
          <TextInput
            key={end}
            type="datetime-local"
            max={MAX_LOCAL_INPUT}
            label={end === 'from' ? 'From' : 'To'}
            value={typed[end]}
            onChange={(event) => onType({ ...typed, [end]: event.currentTarget.value })}
          />
        ))}
    </>
  )
}
