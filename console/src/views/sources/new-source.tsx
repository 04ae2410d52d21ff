import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { fieldError, withoutCorrected } from '../../api/client/errors.ts'
import { useCreateSource } from '../../api/sources.ts'
import { CreateDialog } from '../../ui/form/create-dialog.tsx'
import { WorkspaceField } from '../workspaces.tsx'
import { type Kind, KindField, mayHaveWorkspace } from './kind-field.tsx'

export function NewSource({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<Kind>('server')
  const [workspaceId, setWorkspaceId] = useState('')
  const create = useCreateSource()
  const { error } = withoutCorrected(create, { name, workspaceId })
  function close() {
    setName('')
    setKind('server')
    setWorkspaceId('')
    create.reset()
    onClose()
  }
  const [, go] = useLocation()
  const submit = () =>
    create.mutate(
      {
        name,
        ...(kind !== 'server' && { kind }),
        ...(mayHaveWorkspace(kind) && workspaceId && { workspaceId }),
      },
      { onSuccess: ({ id }) => go(`/sources/${id}`) },
    )
  return (
    <CreateDialog
      opened={opened}
      onClose={close}
      what="source"
      fields={['/name', '/workspaceId']}
      error={error}
      onSubmit={submit}
      loading={create.isPending}
    >
      <TextInput
        label="Name"
        description="The app or website that sends the calls, such as “Shop” or “iOS app”."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={fieldError(error, '/name')}
        data-autofocus
      />
      <KindField value={kind} onChange={setKind} />
      {mayHaveWorkspace(kind) && (
        <WorkspaceField value={workspaceId} onChange={setWorkspaceId} error={error} />
      )}
    </CreateDialog>
  )
}
