import { Alert, Button, Group, List, NativeSelect, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useSources } from '../../api/sources.ts'
import { type Suppression, type User, useEndSuppression, useSuppress } from '../../api/users.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Confirm } from '../../ui/form/confirm.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { MayManage } from '../../ui/may-manage.tsx'
import { SourceName } from '../../ui/values/names.tsx'
import { StateBadge } from '../../ui/values/state-badge.tsx'
import { Timestamp } from '../../ui/values/time.tsx'
import { visible } from '../../wording/visible.ts'
import { DeleteUsers } from './delete-users.tsx'

const EVERY_SOURCE = '*'

export function UserPanel({ user }: { user: User }) {
  const { userId, suppressions, deletions } = user
  const [deletes, { open: openDelete, close: closeDelete }] = useDisclosure()
  const [suppresses, { open: openSuppress, close: closeSuppress }] = useDisclosure()
  return (
    <Panel
      title={`User ${userId}`}
      actions={
        <MayManage what="all">
          <Button variant="default" size="xs" onClick={openSuppress}>
            Suppress user
          </Button>
          <Button variant="light" color="red" size="xs" onClick={openDelete}>
            Delete user
          </Button>
        </MayManage>
      }
    >
      <Stack gap="sm">
        {deletions.length > 0 && (
          <Alert color="blue" title="A deletion of this user is in progress" role="status">
            Requested <Timestamp at={deletions[0]?.createdAt ?? null} />. The events appear below as soon as
            they are written.
          </Alert>
        )}
        {suppressions.length === 0 ? (
          <Text size="sm">Not suppressed: calls of this user are accepted.</Text>
        ) : (
          suppressions.map((suppression) => <Suppressed key={suppression.id} suppression={suppression} />)
        )}
      </Stack>
      <DeleteUsers opened={deletes} onClose={closeDelete} userId={userId} />
      <SuppressUser opened={suppresses} onClose={closeSuppress} user={user} />
    </Panel>
  )
}

function Suppressed({ suppression: { id, sourceId, updatedAt } }: { suppression: Suppression }) {
  const end = useEndSuppression()
  const isEverywhere = sourceId === EVERY_SOURCE
  return (
    <Group gap="sm">
      <StateBadge label="Suppressed" color="orange" />
      <Text size="sm" className="in-flow">
        Calls from {isEverywhere ? 'all sources' : <SourceName id={sourceId} />} have been dropped since{' '}
        <Timestamp at={updatedAt} />
      </Text>
      <MayManage what="all">
        <Button size="compact-xs" variant="default" onClick={() => end.mutate(id)} loading={end.isPending}>
          End suppression
        </Button>
      </MayManage>
      <ErrorAlert error={end.error} />
    </Group>
  )
}

type SuppressProps = { opened: boolean; onClose: () => void; user: User }

function SuppressUser({ opened, onClose, user: { userId } }: SuppressProps) {
  const [sourceId, setSourceId] = useState(EVERY_SOURCE)
  const sources = useSources().data ?? []
  const suppress = useSuppress()
  function close() {
    suppress.reset()
    onClose()
  }
  return (
    <Confirm
      opened={opened}
      onClose={close}
      title={`Suppress ${userId}?`}
      action="Suppress user"
      onConfirm={() => suppress.mutate({ sourceId, userId }, { onSuccess: close })}
      loading={suppress.isPending}
      error={suppress.error}
    >
      <List size="sm">
        <List.Item>Later calls with this user ID are answered with 200 and dropped.</List.Item>
        <List.Item>Events that were already accepted are still delivered.</List.Item>
        <List.Item>Receivers keep what they have. To remove it, delete the user.</List.Item>
      </List>
      <NativeSelect
        label="Calls from"
        value={sourceId}
        onChange={(event) => setSourceId(event.currentTarget.value)}
        data={[
          { value: EVERY_SOURCE, label: 'All sources, including new ones' },
          ...sources.map(({ id, name }) => ({ value: id, label: visible(name) })),
        ]}
      />
    </Confirm>
  )
}
