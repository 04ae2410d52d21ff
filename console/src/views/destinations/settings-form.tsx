import { Checkbox, Group, Radio, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import {
  type Destination,
  EVENT_TYPES,
  type EventType,
  useReplaceDestination,
} from '../../api/destinations.ts'
import { faultAt, faulty, type Refused } from '../../api/errors.ts'
import { useSources } from '../../api/sources.ts'
import type { Edited } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { ChooseSources } from '../sources/choose-sources.tsx'
import { draftFaults, draftOf, isWebhookPointer, type WebhookDraft, webhooksOf } from '../webhooks/draft.ts'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'

export function SettingsForm({ base, onSaved, form }: Edited<Destination>) {
  const [name, setName] = useState(base.name)
  const [sourceIds, setSourceIds] = useState<string[]>(base.sourceIds)
  const [webhooks, setWebhooks] = useState<readonly WebhookDraft[]>(() => draftOf(base.webhooks))
  const [eventTypes, setEventTypes] = useState<EventType[] | undefined>(base.eventTypes)
  const [retryOn, setRetryOn] = useState<Retried[]>(base.retryOn ?? [])
  const [standardWebhooks, setStandard] = useState(base.standardWebhooks ?? false)
  const [local, setLocal] = useState<Refused>()
  const sources = useSources()
  const replace = useReplaceDestination()
  const error = local ?? replace.error

  function submit() {
    const faults = draftFaults(webhooks)
    setLocal(faults.length > 0 ? faulty(faults) : undefined)
    if (faults.length > 0) return
    const { eventTypes: _, retryOn: __, ...rest } = base
    replace.mutate(
      {
        ...rest,
        ...{ name, sourceIds, webhooks: webhooksOf(webhooks), standardWebhooks },
        ...(eventTypes && { eventTypes }),
        ...(retryOn.length > 0 && { retryOn }),
      },
      { onSuccess: onSaved },
    )
  }

  return (
    <Panel title="Settings">
      <Form {...form} onSubmit={submit} saving={replace} error={local} shown={isShown}>
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={faultAt(error, '/name')}
          maw={420}
        />
        <Loaded query={sources}>
          {(all) => (
            <ChooseSources
              sources={all}
              chosen={sourceIds}
              onChange={setSourceIds}
              error={faultAt(error, '/sourceIds')}
            />
          )}
        </Loaded>
        <WebhooksEditor webhooks={webhooks} onChange={setWebhooks} error={error} />
        <EventTypes chosen={eventTypes} onChange={setEventTypes} error={faultAt(error, '/eventTypes')} />
        <Checkbox.Group
          label="Also try again on"
          description="5xx is always tried again. With any of these, the receiver's Retry-After is honoured."
          value={retryOn.map(String)}
          onChange={(chosen) => setRetryOn(RETRIED.filter((status) => chosen.includes(String(status))))}
        >
          <Group mt={6}>
            {RETRIED.map((status) => (
              <Checkbox key={status} value={String(status)} label={status} />
            ))}
          </Group>
        </Checkbox.Group>
        <Checkbox
          label="Send the headers of Standard Webhooks as well"
          description="webhook-id, webhook-timestamp, webhook-signature; needs a secret."
          checked={standardWebhooks}
          onChange={(event) => setStandard(event.currentTarget.checked)}
        />
      </Form>
    </Panel>
  )
}

const isShown = (pointer: string) =>
  isWebhookPointer(pointer) || ['/name', '/sourceIds', '/eventTypes'].includes(pointer)

/** @param chosen undefined: all types, also such as there may be later. */
export function EventTypes({
  chosen,
  onChange,
  error,
}: {
  chosen: EventType[] | undefined
  onChange: (types: EventType[] | undefined) => void
  error: string | undefined
}) {
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Events"
        value={chosen ? 'some' : 'all'}
        onChange={(which) => onChange(which === 'all' ? undefined : [...EVENT_TYPES])}
      >
        <Group mt={6}>
          <Radio value="all" label="All types" />
          <Radio value="some" label="These types only" />
        </Group>
      </Radio.Group>
      {chosen && (
        <Checkbox.Group
          aria-label="Types of events"
          value={chosen}
          onChange={(types) => onChange(EVENT_TYPES.filter((type) => types.includes(type)))}
          error={error}
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

/** Statuses below 500 that a destination may have tried again. */
export const RETRIED = [408, 425, 429] as const

export type Retried = (typeof RETRIED)[number]
