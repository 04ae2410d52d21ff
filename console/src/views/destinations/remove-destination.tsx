import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useLocation } from 'wouter'
import { type Destination, useRemoveDestination } from '../../api/destinations.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Panel } from '../../parts/panel.tsx'

export function RemoveDestination({ destination: { id, name } }: { destination: Destination }) {
  const [opened, { open, close }] = useDisclosure()
  const [, go] = useLocation()
  const remove = useRemoveDestination(id)
  return (
    <Panel
      title="Delete this destination"
      lead="Nothing more is sent to it, and what waits for it is given up."
      actions={
        <Button color="red" variant="light" onClick={open}>
          Delete destination
        </Button>
      }
    >
      <Confirm
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        action={`Delete ${name}`}
        danger
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => go('/destinations') })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">
          Its URLs, headers and secret are gone then, and its dead letters cannot be replayed any more. This
          cannot be taken back.
        </Text>
      </Confirm>
    </Panel>
  )
}
