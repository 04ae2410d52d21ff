import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import type { Destination } from '../../api/destinations.ts'
import { useBeginReplays } from '../../api/replays.ts'
import { Confirm } from '../../ui/form/confirm.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { When } from '../../ui/values/when.tsx'
import { LAST } from '../../wording/format.ts'
import { PerSecond } from './rate-field.tsx'
import { Replays } from './replay-list.tsx'
import { newReplayId, perSecondOf, spanOf } from './requests.ts'

/** What came in, sent to this destination as if it had been there: to fill a new one, or after it was off. */
export function ReplayPanel({ destination: { id, name } }: { destination: Destination }) {
  const [which, setWhich] = useState('1')
  const [typed, setTyped] = useState({ from: '', to: '' })
  const [perSecond, setPerSecond] = useState('500')
  const [asked, setAsked] = useState({ replayId: '', from: '', to: '' })
  const [opened, { open, close }] = useDisclosure()
  const begin = useBeginReplays()
  const span = spanOf(which, typed, Date.now())
  const rate = perSecondOf(perSecond)
  const failed = begin.data?.find(({ error }) => error !== undefined)

  function ask() {
    if (!span) return
    // of one question, however often it is answered, comes one replay
    setAsked({ replayId: newReplayId(), ...span })
    begin.reset()
    open()
  }

  function confirmed() {
    const { replayId, from, to } = asked
    const wanted = { id: replayId, destinationId: id, what: 'events' as const, from, to }
    begin.mutate([{ ...wanted, ...(rate !== undefined && { perSecond: rate }) }], {
      onSuccess: ([begun]) => begun?.error === undefined && close(),
    })
  }

  return (
    <Stack>
      <Panel
        title="Replay events"
        lead={`Sends what came in from its sources to ${name} once more, as it is set now: to fill a new destination, or after it was off. What it has had already comes again, with the same X-Delivery-Id.`}
      >
        <Stack>
          <Group align="flex-start">
            <NativeSelect
              label="Events of"
              value={which}
              onChange={(event) => setWhich(event.currentTarget.value)}
              data={[...LAST, { value: 'own', label: 'from ... to ...' }]}
            />
            {which === 'own' &&
              (['from', 'to'] as const).map((end) => (
                <TextInput
                  key={end}
                  type="datetime-local"
                  label={end === 'from' ? 'From' : 'To'}
                  value={typed[end]}
                  onChange={(event) => setTyped({ ...typed, [end]: event.currentTarget.value })}
                />
              ))}
            <PerSecond value={perSecond} onChange={setPerSecond} />
          </Group>
          <Group>
            <Button onClick={ask} disabled={!span || rate === undefined}>
              Replay events
            </Button>
            <Text size="sm" role="status">
              {begin.data && !failed && 'Begun: how far it is stands below.'}
            </Text>
          </Group>
        </Stack>
      </Panel>
      <Confirm
        opened={opened}
        onClose={close}
        title={`Replay events to ${name}?`}
        action="Replay"
        onConfirm={confirmed}
        loading={begin.isPending}
        error={failed?.error}
      >
        <Text size="sm">
          Everything from its sources that came in from <When at={asked.from || null} /> to{' '}
          <When at={asked.to || null} /> is sent to {name}, at most {rate} a second; what it has had already,
          too.
        </Text>
      </Confirm>
      <Replays destinationId={id} />
    </Stack>
  )
}
