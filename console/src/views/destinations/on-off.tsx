import { Stack, Switch, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Destination, useReplaceDestination } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { State } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Refusal } from '../../parts/refusal.tsx'

/** Off is no pause: what waits is given up, so that it is asked for twice. */
export function OnOff({ destination }: { destination: Destination }) {
  const { name, enabled } = destination
  const [opened, { open, close }] = useDisclosure()
  const replace = useReplaceDestination()
  const mayWrite = useMayWrite()
  const turn = (on: boolean) => replace.mutate({ ...destination, enabled: on }, { onSuccess: close })
  if (!mayWrite) return enabled ? <State label="On" color="green" /> : <State label="Off" color="gray" />
  return (
    <Stack gap={4} align="flex-end">
      <Switch
        size="md"
        label={enabled ? 'On' : 'Off'}
        aria-label={`${name} is ${enabled ? 'on' : 'off'}`}
        checked={enabled}
        onChange={() => (enabled ? open() : turn(true))}
        disabled={replace.isPending}
      />
      {!opened && <Refusal error={replace.error} />}
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
