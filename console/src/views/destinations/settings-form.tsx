import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { type Destination, type EventType, useReplaceDestination } from '../../api/destinations.ts'
import { faultAt, Refused } from '../../api/problem.ts'
import { useSources } from '../../api/sources.ts'
import { Panel } from '../../parts/panel.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { ChooseSources } from '../webhooks/choose-sources.tsx'
import { draftOf, headerFaults, isWebhookPointer, type WebhookDraft, webhooksOf } from '../webhooks/draft.ts'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { EventTypes } from './event-types.tsx'
import { RETRIED, type Retried } from './retried.ts'

type FormParts = {
  destination: Destination
  onSaved: (destination: Destination) => void
  onReload: () => void
  onTouch: () => void
  isSaved: boolean
}

export function SettingsForm({ destination, onSaved, onReload, onTouch, isSaved }: FormParts) {
  const [name, setName] = useState(destination.name)
  const [sourceIds, setSourceIds] = useState<string[]>(destination.sourceIds)
  const [webhooks, setWebhooks] = useState<readonly WebhookDraft[]>(() => draftOf(destination.webhooks))
  const [eventTypes, setEventTypes] = useState<EventType[] | undefined>(destination.eventTypes)
  const [retryOn, setRetryOn] = useState<Retried[]>(destination.retryOn ?? [])
  const [standardWebhooks, setStandard] = useState(destination.standardWebhooks ?? false)
  const [local, setLocal] = useState<Refused>()
  const sources = useSources().data ?? []
  const replace = useReplaceDestination()
  const error = local ?? replace.error

  function submit(event: FormEvent) {
    event.preventDefault()
    const errors = headerFaults(webhooks)
    const isFaulty = errors.length > 0
    setLocal(isFaulty ? new Refused({ code: 'validation_failed', message: '', errors }, 400) : undefined)
    if (isFaulty) return
    const { eventTypes: _, retryOn: __, ...rest } = destination
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
      <form onSubmit={submit} onChangeCapture={onTouch} onClickCapture={onTouch}>
        <Stack maw={820}>
          <TextInput
            label="Name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={faultAt(error, '/name')}
            maw={420}
          />
          <ChooseSources
            sources={sources}
            chosen={sourceIds}
            onChange={setSourceIds}
            error={faultAt(error, '/sourceIds')}
          />
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
          <Refusal error={error} shown={isShown} onReload={onReload} />
          <Group>
            <Button type="submit" loading={replace.isPending}>
              Save
            </Button>
            <Text size="sm" role="status">
              {isSaved && !replace.isPending && !error && 'Saved'}
            </Text>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}

const isShown = (pointer: string) =>
  isWebhookPointer(pointer) || ['/name', '/sourceIds', '/eventTypes'].includes(pointer)
