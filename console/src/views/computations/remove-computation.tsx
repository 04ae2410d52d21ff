import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Computation, type Kind, useRemoveComputation } from '../../api/computations.ts'
import { Confirm } from '../../parts/confirm.tsx'

type RemoveParts = { kind: Kind; computation: Computation; onRemoved: () => void }

export function RemoveComputation({ kind, computation: { id, name }, onRemoved }: RemoveParts) {
  const [opened, { open, close }] = useDisclosure()
  const remove = useRemoveComputation(kind, id)
  function confirmed() {
    // the row is gone by then, and what it would be told with it
    remove.mutateAsync().then(
      () => onRemoved(),
      () => undefined, // it stands in the dialogue
    )
  }
  return (
    <>
      <Button size="compact-sm" variant="subtle" color="red" onClick={open} aria-label={`Delete ${name}`}>
        Delete
      </Button>
      <Confirm
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        action={`Delete ${name}`}
        danger
        onConfirm={confirmed}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">
          What is kept of its users goes with it. No calls are sent about that: receivers keep what they have.
        </Text>
      </Confirm>
    </>
  )
}
