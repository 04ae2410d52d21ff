import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useLocation } from 'wouter'
import { Panel } from '../layout/page.tsx'
import { ConfirmDelete } from './confirm.tsx'

type DeleteProps = {
  what: 'source' | 'destination'
  name: string
  lead: string
  warning: string
  mutation: {
    mutate(none: undefined, options: { onSuccess: () => void }): void
    isPending: boolean
    error: unknown
  }
}

export function DeletePanel({ what, name, lead, warning, mutation }: DeleteProps) {
  const [opened, { open, close }] = useDisclosure()
  const [, go] = useLocation()
  return (
    <Panel
      title={`Delete this ${what}`}
      lead={lead}
      actions={
        <Button color="red" variant="light" onClick={open}>
          Delete {what}
        </Button>
      }
    >
      <ConfirmDelete
        opened={opened}
        onClose={close}
        name={name}
        onConfirm={() => mutation.mutate(undefined, { onSuccess: () => go(`/${what}s`) })}
        mutation={mutation}
      >
        <Text size="sm">{warning}</Text>
      </ConfirmDelete>
    </Panel>
  )
}
