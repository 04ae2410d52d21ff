import { Alert, Button, Stack } from '@mantine/core'
import { useRef, useState } from 'react'
import { faultAt } from '../../api/errors.ts'
import { Icon } from '../../ui/layout/icon.tsx'
import { MOST_URLS, newWebhook, type WebhookDraft } from './draft.ts'
import { WebhookFields } from './webhook-fields.tsx'

type EditorParts = {
  webhooks: readonly WebhookDraft[]
  onChange: (webhooks: readonly WebhookDraft[]) => void
  /** Of the last try to save: its faults stand at their fields. */
  error: unknown
}

/** One to five URLs, each with up to five headers. */
export function WebhooksEditor({ webhooks, onChange, error }: EditorParts) {
  const [isTooMany, setTooMany] = useState(false)
  const adding = useRef<HTMLButtonElement>(null)
  function add() {
    if (webhooks.length >= MOST_URLS) setTooMany(true)
    else onChange([...webhooks, newWebhook()])
  }
  function change(key: number, changed: WebhookDraft | undefined) {
    if (!changed) {
      setTooMany(false)
      // what had the focus is gone
      adding.current?.focus()
    }
    onChange(webhooks.flatMap((each) => (each.key === key ? (changed ?? []) : each)))
  }
  const fault = faultAt(error, '/webhooks')
  return (
    <Stack gap="sm">
      {webhooks.map((webhook, index) => (
        <WebhookFields
          key={webhook.key}
          webhook={webhook}
          index={index}
          isOnly={webhooks.length === 1}
          onChange={(changed) => change(webhook.key, changed)}
          error={error}
        />
      ))}
      {fault && <Alert color="red">{fault}</Alert>}
      <div>
        <Button
          ref={adding}
          variant="default"
          size="sm"
          leftSection={<Icon of="plus" size={14} />}
          onClick={add}
        >
          Add another URL
        </Button>
      </div>
      {isTooMany && (
        <Alert color="yellow" role="alert" title="A destination has at most five URLs">
          Each event is posted to every URL at once. One success settles the delivery: URLs that failed are
          not retried. To make sure that another system gets every event, set up another Webhooks destination
          for the same sources.
        </Alert>
      )}
    </Stack>
  )
}
