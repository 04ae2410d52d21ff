import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { api, resultOf, resultOfChange, type Schemas } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { ForAdmin } from '../ui/for-admin.tsx'
import { Confirm } from '../ui/form/confirm.tsx'
import { Timestamp } from '../ui/values/time.tsx'

type Warning = Schemas['Warning']
type Kind = NonNullable<Warning['kind']>

const useWarnings = () =>
  useQuery({
    queryKey: ['warnings'],
    queryFn: () => resultOf(api.GET('/api/warnings')),
    refetchInterval: 10_000,
  })

const PATHS = {
  source: '/api/sources/{id}',
  destination: '/api/destinations/{id}',
  suppression: '/api/suppressions/{id}',
  audience: '/api/audiences/{id}',
  trait: '/api/traits/{id}',
} as const

/** Deletes a setting whose record cannot be read, without a version: it has none. */
const useDeleteUnreadableSetting = (kind: Kind, id: string) =>
  useMutation({
    mutationFn: () => resultOfChange(api.DELETE(PATHS[kind], { params: { path: { id } } })),
    onSuccess: () => queryClient.invalidateQueries(),
  })

export function Warnings() {
  const items = useWarnings().data?.items ?? []
  if (items.length === 0) return null
  return (
    <Stack mb="md" gap="sm">
      {items.map((warning) => (
        <WarningAlert key={`${warning.code} ${warning.kind}/${warning.id}`} warning={warning} />
      ))}
    </Stack>
  )
}

const TITLES = {
  storage_full: 'Calls are rejected because storage is almost full',
  setting_unreadable: 'A setting cannot be read',
} as const

function WarningAlert({ warning: { code, message, kind, id, since } }: { warning: Warning }) {
  return (
    <Alert color="red" role="alert" title={TITLES[code]}>
      <Group justify="space-between" align="flex-end">
        <Text size="sm" className="in-flow">
          {message}{' '}
          {since !== null && (
            <>
              Since <Timestamp at={since} short />.
            </>
          )}
        </Text>
        {kind !== null && id !== null && (
          <ForAdmin>
            <DeleteSetting kind={kind} id={id} />
          </ForAdmin>
        )}
      </Group>
    </Alert>
  )
}

function DeleteSetting({ kind, id }: { kind: NonNullable<Warning['kind']>; id: string }) {
  const [opened, { open, close }] = useDisclosure()
  const remove = useDeleteUnreadableSetting(kind, id)
  const action = `Delete ${kind} ${id}`
  return (
    <>
      <Button size="xs" color="red" variant="light" onClick={open}>
        {action}
      </Button>
      <Confirm
        opened={opened}
        onClose={close}
        title={`${action}?`}
        action={action}
        danger
        onConfirm={() => remove.mutate(undefined, { onSuccess: close })}
        loading={remove.isPending}
        error={remove.error}
      >
        <Text size="sm">The record is deleted, and deliveries that are waiting for it are cancelled.</Text>
      </Confirm>
    </>
  )
}
