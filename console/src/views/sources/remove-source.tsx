import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useLocation } from 'wouter'
import { type Source, useRemoveSource } from '../../api/sources.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Panel } from '../../parts/panel.tsx'

export function RemoveSource({ source: { id, name } }: { source: Source }) {
  const [opened, { open, close }] = useDisclosure()
  const [, go] = useLocation()
  const remove = useRemoveSource(id)
  return (
    <Panel
      title="Delete this source"
      lead="Its write key stops working at once. What it has sent stays, and is delivered."
      actions={
        <Button color="red" variant="light" onClick={open}>
          Delete source
        </Button>
      }
    >
      <Confirm
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        action={`Delete ${name}`}
        danger
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => go('/sources') })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">
          Clients that send with its write key are refused from then on. This cannot be taken back.
        </Text>
      </Confirm>
    </Panel>
  )
}
