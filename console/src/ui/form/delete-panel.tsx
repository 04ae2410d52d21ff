import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useLocation } from 'wouter'
import { Panel } from '../layout/page.tsx'
import { Confirm } from './confirm.tsx'

type RemoveParts = {
  what: 'source' | 'destination'
  name: string
  /** What comes of it. */
  lead: string
  /** What cannot be taken back. */
  lost: string
  remove: {
    mutate(none: undefined, told: { onSuccess: () => void }): void
    isPending: boolean
    error: unknown
  }
}

/** Deletes what the page is of, and goes back to the list of its kind. */
export function RemovePanel({ what, name, lead, lost, remove }: RemoveParts) {
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
      <Confirm
        opened={opened}
        onClose={close}
        title={`Delete ${name}?`}
        action={`Delete ${name}`}
        danger
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => go(`/${what}s`) })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">{lost}</Text>
      </Confirm>
    </Panel>
  )
}
