import { Badge, Button, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { fieldError } from '../api/client/errors.ts'
import { useMakeWorkspaceToken, useSeesAll } from '../api/session.ts'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { MayManage } from '../ui/may-manage.tsx'
import { Snippet } from '../ui/values/code.tsx'
import { Timestamp } from '../ui/values/time.tsx'

type InWorkspace = { workspaceId?: string | undefined }

/** Not for customers: the header names their workspace. */
export function WorkspaceBadge({ workspaceId }: InWorkspace) {
  if (!useSeesAll() || workspaceId === undefined) return null
  return (
    <>
      <Badge
        variant="light"
        color="gray"
        tt="none"
        radius="sm"
        maw={{ base: 260, sm: 600 }}
        title={workspaceId}
      >
        Workspace {workspaceId}
      </Badge>
      <MayManage what="all">
        <PortalLink workspaceId={workspaceId} />
      </MayManage>
    </>
  )
}

const HOURS = [
  { value: '1', label: '1 hour' },
  { value: '12', label: '12 hours' },
]

function PortalLink({ workspaceId }: { workspaceId: string }) {
  const [opened, { open, close }] = useDisclosure()
  const [hours, setHours] = useState('1')
  const { mutate, data, error, isPending, reset } = useMakeWorkspaceToken(workspaceId)
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={open}>
        Portal link
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        onExitTransitionEnd={reset}
        title={`Portal link for workspace ${workspaceId}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Stack>
          {data ? (
            <>
              <Text size="sm">
                Shown only once. Until <Timestamp at={data.expiresAt} />, anyone with this link can manage the
                destinations of the workspace.
              </Text>
              <Snippet code={`${window.location.origin}/#token=${data.token}`} what="portal link" />
            </>
          ) : (
            <>
              <NativeSelect
                label="Valid for"
                data={HOURS}
                value={hours}
                onChange={(event) => setHours(event.currentTarget.value)}
              />
              <ErrorAlert error={error} />
              <Button onClick={() => mutate(Number(hours))} loading={isPending} data-autofocus>
                Create link
              </Button>
            </>
          )}
        </Stack>
      </Modal>
    </>
  )
}

type FieldProps = { value: string; onChange: (value: string) => void; isFixed?: boolean; error: unknown }

/** For a source. */
export const WorkspaceField = ({ value, onChange, isFixed = false, error }: FieldProps) => (
  <TextInput
    label="Workspace"
    description={
      isFixed
        ? FIXED
        : 'Optional. Lets the customer of this workspace use the source. Cannot be changed later.'
    }
    value={value}
    onChange={(event) => onChange(event.currentTarget.value)}
    readOnly={isFixed}
    error={fieldError(error, '/workspaceId')}
    maw={420}
  />
)

const FIXED = 'Cannot be changed.'

/** For a destination: its sources must belong to the same workspace. Hidden if no source has one. */
export function WorkspaceSelect({
  sources,
  value = '',
  onChange,
  isFixed,
}: {
  isFixed: boolean
  sources: readonly InWorkspace[]
  value: string | undefined
  onChange: (value: string | undefined) => void
}) {
  const known = new Set([
    ...sources.flatMap(({ workspaceId }) => workspaceId ?? []),
    ...(value ? [value] : []),
  ])
  if (known.size === 0) return null
  return (
    <MayManage what="all">
      <NativeSelect
        label="Workspace"
        description={
          isFixed
            ? FIXED
            : 'Optional. Lets the customer of this workspace manage the destination. Cannot be changed later.'
        }
        data={[{ value: '', label: 'None' }, ...known]}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value || undefined)}
        disabled={isFixed}
        maw={420}
      />
    </MayManage>
  )
}
