import { Checkbox, Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import { type Destination, type EventType, useReplaceDestination } from '../../api/destinations.ts'
import { faultAt, faulty, type Refused } from '../../api/problem.ts'
import { useSources } from '../../api/sources.ts'
import type { Edited } from '../../parts/editing.tsx'
import { Form } from '../../parts/form.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { Panel } from '../../parts/panel.tsx'
import { ChooseSources } from '../webhooks/choose-sources.tsx'
import { draftFaults, draftOf, isWebhookPointer, type WebhookDraft, webhooksOf } from '../webhooks/draft.ts'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { EventTypes } from './event-types.tsx'
import { RETRIED, type Retried } from './retried.ts'

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
