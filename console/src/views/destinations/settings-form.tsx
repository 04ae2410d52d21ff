import { Checkbox, Group, Radio, Stack } from '@mantine/core'
import { useState } from 'react'
import {
  type Fault,
  fieldError,
  remainingFaults,
  validationError,
  withoutCorrected,
} from '../../api/client/errors.ts'
import {
  type Destination,
  EVENT_TYPES,
  type EventType,
  useReplaceDestination,
} from '../../api/destinations.ts'
import { useSources } from '../../api/sources.ts'
import { type FieldsProps, NameField, useDraft } from '../../ui/form/draft.tsx'
import type { Edited } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { ChooseSources } from '../sources/choose-sources.tsx'
import { draftFaults, isWebhookPointer, toDrafts, toWebhooks, type WebhookDraft } from '../webhooks/draft.ts'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'

type Draft = {
  name: string
  sourceIds: string[]
  workspaceId: string | undefined
  webhooks: readonly WebhookDraft[]
  /** Undefined: all types, including future ones. */
  eventTypes: EventType[] | undefined
  retryOn: RetryableStatus[]
  standardWebhooks: boolean
}

const toDraft = ({
  name,
  sourceIds,
  workspaceId,
  webhooks,
  eventTypes,
  retryOn,
  standardWebhooks,
}: Destination): Draft => ({
  name,
  sourceIds,
  workspaceId,
  webhooks: toDrafts(webhooks),
  eventTypes,
  retryOn: retryOn ?? [],
  standardWebhooks: standardWebhooks ?? false,
})

function toReplacement(
  base: Destination,
  { eventTypes, retryOn, webhooks, workspaceId, ...draft }: Draft,
): Destination {
  const { eventTypes: _, retryOn: __, ...rest } = base
  return {
    ...rest,
    ...draft,
    webhooks: toWebhooks(webhooks),
    ...(workspaceId !== undefined && { workspaceId }),
    ...(eventTypes && { eventTypes }),
    ...(retryOn.length > 0 && { retryOn }),
  }
}

type Fields = FieldsProps<Draft>

export function SettingsForm({ base, onSaved, form }: Edited<Destination>) {
  const [draft, setDraft] = useDraft(() => toDraft(base))
  const [faults, setFaults] = useState<readonly Fault[]>([])
  const replace = useReplaceDestination()
  const saving = withoutCorrected(replace, toReplacement(base, draft))
  const remaining = remainingFaults(faults, draftFaults(draft.webhooks))
  const localError = remaining.length > 0 ? validationError(remaining) : undefined
  const fields = { draft, change, error: localError ?? saving.error }

  /** Buttons such as “Remove URL 2” fire no change event. */
  function change(changed: Partial<Draft>) {
    form.onChange()
    setDraft(changed)
  }

  function submit() {
    const faults = draftFaults(draft.webhooks)
    setFaults(faults)
    if (faults.length === 0) replace.mutate(toReplacement(base, draft), { onSuccess: onSaved })
  }

  return (
    <Panel title="Settings">
      <Form {...form} onSubmit={submit} saving={saving} error={localError} shown={isShownAtField}>
        <GeneralFields {...fields} base={base} />
        <EventTypes {...fields} />
        <DeliveryOptions {...fields} />
      </Form>
    </Panel>
  )
}

const isShownAtField = (pointer: string) =>
  isWebhookPointer(pointer) || ['/name', '/sourceIds', '/eventTypes'].includes(pointer)

function GeneralFields({ draft, change, error, base }: Fields & { base: Destination }) {
  const { name, sourceIds, workspaceId, webhooks } = draft
  const sources = useSources()
  return (
    <>
      <NameField value={name} change={change} error={error} />
      <Loaded query={sources}>
        {(all) => (
          <ChooseSources
            sources={all}
            chosen={sourceIds}
            workspaceId={workspaceId}
            saved={base}
            onChange={change}
            error={error}
          />
        )}
      </Loaded>
      <WebhooksEditor webhooks={webhooks} onChange={(webhooks) => change({ webhooks })} error={error} />
    </>
  )
}

function EventTypes({ draft: { eventTypes }, change, error }: Fields) {
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Event types"
        value={eventTypes ? 'some' : 'all'}
        onChange={(which) => change({ eventTypes: which === 'all' ? undefined : [...EVENT_TYPES] })}
      >
        <Group mt={6}>
          <Radio value="all" label="All" />
          <Radio value="some" label="Only these" />
        </Group>
      </Radio.Group>
      {eventTypes && (
        <Checkbox.Group
          aria-label="Event types"
          value={eventTypes}
          onChange={(types) => change({ eventTypes: EVENT_TYPES.filter((type) => types.includes(type)) })}
          error={fieldError(error, '/eventTypes')}
        >
          <Group>
            {EVENT_TYPES.map((type) => (
              <Checkbox key={type} value={type} label={type} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
    </Stack>
  )
}

const RETRYABLE = [408, 425, 429] as const
type RetryableStatus = (typeof RETRYABLE)[number]

function DeliveryOptions({ draft: { retryOn, standardWebhooks }, change }: Fields) {
  return (
    <>
      <Checkbox.Group
        label="Also retry on"
        description="5xx is always retried. If you select any status, Sluice also honors the receiver’s Retry-After header."
        value={retryOn.map(String)}
        onChange={(chosen) =>
          change({ retryOn: RETRYABLE.filter((status) => chosen.includes(String(status))) })
        }
      >
        <Group mt={6}>
          {RETRYABLE.map((status) => (
            <Checkbox key={status} value={String(status)} label={status} />
          ))}
        </Group>
      </Checkbox.Group>
      <Checkbox
        label="Standard Webhooks (recommended)"
        description="Also signs id, time and body with HMAC-SHA256: webhook-id, webhook-timestamp and webhook-signature. Requires a secret."
        checked={standardWebhooks}
        onChange={(event) => change({ standardWebhooks: event.currentTarget.checked })}
      />
    </>
  )
}
