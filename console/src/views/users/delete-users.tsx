import { Checkbox, Text, Textarea } from '@mantine/core'
import { useState } from 'react'
import { fieldError } from '../../api/client/errors.ts'
import { useDeleteUsers } from '../../api/users.ts'
import { newId } from '../../random.ts'
import { Confirm } from '../../ui/form/confirm.tsx'
import { pluralize } from '../../wording/format.ts'

type DeleteProps = {
  opened: boolean
  onClose: () => void
  /** Undefined: the user types ids. */
  userId?: string
}

export function DeleteUsers({ opened, onClose, userId }: DeleteProps) {
  const [text, setText] = useState('')
  const [suppress, setSuppress] = useState(true)
  // a request repeated after a lost answer is accepted only once
  const [id, setId] = useState(newId)
  const deleteUsers = useDeleteUsers()
  const userIds = userId === undefined ? userIdsIn(text) : [userId]

  function type(typed: string) {
    setText(typed)
    setId(newId())
  }

  function close() {
    setText('')
    setId(newId())
    deleteUsers.reset()
    onClose()
  }

  return (
    <Confirm
      opened={opened}
      onClose={close}
      title={userId === undefined ? 'Delete several users' : `Delete ${userId}?`}
      action={`Delete ${userId ?? pluralize(userIds.length, 'user')}`}
      danger
      onConfirm={() => deleteUsers.mutate({ id, userIds, suppress }, { onSuccess: close })}
      loading={deleteUsers.isPending}
      disabled={userIds.length === 0}
      error={deleteUsers.error}
    >
      <Text size="sm">
        Every destination gets a delete event for each user and source. What the receivers do with it is up to
        them. You cannot undo this.
      </Text>
      {userId === undefined && <UserIds value={text} onChange={type} error={deleteUsers.error} />}
      <Checkbox
        label="Also drop all later calls of these users"
        checked={suppress}
        onChange={(event) => setSuppress(event.currentTarget.checked)}
      />
    </Confirm>
  )
}

type UserIdsProps = { value: string; onChange: (typed: string) => void; error: unknown }

const UserIds = ({ value, onChange, error }: UserIdsProps) => (
  <Textarea
    label="User IDs"
    description="One per line, at most 5,000."
    rows={6}
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
    error={fieldError(error, '/userIds')}
    styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
    spellCheck={false}
  />
)

/** One per line; trims, and drops blanks and repetitions. */
const userIdsIn = (text: string): string[] => [
  ...new Set(text.split(/\r?\n/).flatMap((line) => line.trim() || [])),
]
