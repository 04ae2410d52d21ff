import { NativeSelect, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core'
import { fieldError, withoutCorrected } from '../../api/client/errors.ts'
import { type Source, useDeleteSource, useReplaceSource } from '../../api/sources.ts'
import { DeletePanel } from '../../ui/form/delete-panel.tsx'
import { type FieldsProps, NameField, useDraft } from '../../ui/form/draft.tsx'
import { type Edited, Editing } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { WorkspaceField } from '../workspaces.tsx'
import { type Kind, KindField, mayHaveWorkspace } from './kind-field.tsx'
import { WriteKey } from './write-key.tsx'

export function SourceSettings({ source }: { source: Source }) {
  return (
    <Stack>
      <Editing latest={source}>{(edited, key) => <SettingsForm key={key} {...edited} />}</Editing>
      {source.kind !== 'notices' && <WriteKey source={source} />}
      <DeletePanel
        what="source"
        name={source.name}
        lead="Its write key stops working immediately. Events that were already received are still delivered."
        warning="Calls with its write key are rejected from then on. You cannot undo this."
        mutation={useDeleteSource(source.id)}
      />
    </Stack>
  )
}

type Draft = {
  name: string
  enabled: boolean
  kind: Kind
  workspaceId: string
  ip: NonNullable<Source['ip']>
  dropsDuplicates: boolean
  /** As typed; empty for no limit. */
  perSecond: string
  burst: string
  bytesPerSecond: string
}

const toDraft = ({
  name,
  enabled,
  kind = 'server',
  workspaceId = '',
  ip = 'full',
  dedup,
  rateLimit,
}: Source): Draft => ({
  name,
  enabled,
  kind,
  workspaceId,
  ip,
  dropsDuplicates: dedup !== 'off',
  perSecond: String(rateLimit?.perSecond ?? ''),
  burst: String(rateLimit?.burst ?? ''),
  bytesPerSecond: String(rateLimit?.bytesPerSecond ?? ''),
})

function toReplacement(base: Source, draft: Draft) {
  const { writeKey: _, rateLimit: __, kind: ___, ip: ____, dedup: _____, ...rest } = base
  const { name, enabled, kind, workspaceId, ip, dropsDuplicates, perSecond, burst, bytesPerSecond } = draft
  const isLimited = perSecond !== '' || burst !== '' || bytesPerSecond !== ''
  const rateLimit = {
    perSecond: Number(perSecond),
    burst: Number(burst || perSecond),
    ...(bytesPerSecond !== '' && { bytesPerSecond: Number(bytesPerSecond) }),
  }
  return {
    ...rest,
    name,
    enabled,
    ...(kind !== 'server' && { kind }),
    ...(workspaceId && (mayHaveWorkspace(kind) || base.workspaceId) && { workspaceId }),
    ...(ip !== 'full' && { ip }),
    ...(!dropsDuplicates && { dedup: 'off' as const }),
    ...(isLimited && { rateLimit }),
  }
}

const IPS = [
  { value: 'full', label: 'Full' },
  { value: 'truncated', label: 'Truncated (203.0.113.0)' },
  { value: 'none', label: 'None' },
]
const SHOWN_AT_FIELDS = [
  '/name',
  '/workspaceId',
  '/rateLimit/perSecond',
  '/rateLimit/burst',
  '/rateLimit/bytesPerSecond',
]

type Fields = FieldsProps<Draft>

function SettingsForm({ base, onSaved, form }: Edited<Source>) {
  const [draft, change] = useDraft(() => toDraft(base))
  const replace = useReplaceSource(base)
  const saving = withoutCorrected(replace, toReplacement(base, draft))
  const fields = { draft, change, error: saving.error }
  return (
    <Panel title="Settings">
      <Form
        {...form}
        onSubmit={() => replace.mutate(toReplacement(base, draft), { onSuccess: onSaved })}
        saving={saving}
        shown={(pointer) => SHOWN_AT_FIELDS.includes(pointer)}
      >
        <GeneralFields {...fields} isInWorkspace={base.workspaceId !== undefined} />
        {draft.kind !== 'notices' && <RateLimitFields {...fields} />}
      </Form>
    </Panel>
  )
}

function GeneralFields({ draft, change, error, isInWorkspace }: Fields & { isInWorkspace: boolean }) {
  const { name, enabled, kind, workspaceId, ip, dropsDuplicates } = draft
  return (
    <>
      <NameField value={name} change={change} error={error} />
      <Switch
        label="Accept calls"
        description="If off, calls are rejected with 403. Sluice client libraries retry for one minute; other clients lose their calls."
        checked={enabled}
        onChange={(event) => change({ enabled: event.currentTarget.checked })}
      />
      <KindField value={kind} onChange={(kind) => change({ kind })} />
      {(mayHaveWorkspace(kind) || isInWorkspace) && (
        <WorkspaceField
          value={workspaceId}
          onChange={(workspaceId) => change({ workspaceId })}
          isFixed={isInWorkspace}
          error={error}
        />
      )}
      <NativeSelect
        label="IP addresses"
        description="How much of context.ip is stored, even if a call sets it."
        data={IPS}
        value={ip}
        // the options are the type's values
        onChange={(event) => change({ ip: event.currentTarget.value as typeof ip })}
        maw={420}
      />
      <Switch
        label="Drop duplicates"
        description="Forwards repeated calls with the same messageId only once. If off, each one is forwarded."
        checked={dropsDuplicates}
        onChange={(event) => change({ dropsDuplicates: event.currentTarget.checked })}
      />
    </>
  )
}

const RATE_LIMITS = [
  { field: 'perSecond', label: 'Max. calls/s', description: 'Sustained rate. Leave empty for no limit.' },
  { field: 'burst', label: 'Max. burst', description: 'Calls accepted at once.' },
  {
    field: 'bytesPerSecond',
    label: 'Max. bytes/s',
    description:
      'Size in Kafka, or of the request body if that is larger. Leave empty for no limit. Requires a limit on calls.',
  },
] as const

function RateLimitFields({ draft, change, error }: Fields) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} maw={420}>
      {RATE_LIMITS.map(({ field, label, description }) => (
        <TextInput
          key={field}
          type="number"
          label={label}
          description={description}
          value={draft[field]}
          onChange={(event) => change({ [field]: event.currentTarget.value })}
          min={0}
          error={fieldError(error, `/rateLimit/${field}`)}
        />
      ))}
    </SimpleGrid>
  )
}
