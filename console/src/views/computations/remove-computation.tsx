import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type Computation, type Kind, useRemoveComputation } from '../../api/computations.ts'
import { Confirm } from '../../parts/confirm.tsx'

export function RemoveComputation({
  kind,
  computation: { id, name },
}: {
  kind: Kind
  computation: Computation
}) {
  const [opened, { open, close }] = useDisclosure()
  const remove = useRemoveComputation(kind, id)
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
        onConfirm={() => remove.mutate(undefined, { onSuccess: close })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">What is kept of its users goes with it. Nobody is told of it.</Text>
      </Confirm>
    </>
  )
}
