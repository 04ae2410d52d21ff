import { Alert, Stack } from '@mantine/core'
import { fieldError } from '../../api/client/errors.ts'
import { AddButton, useLimitedList } from '../../ui/form/limited-list.tsx'
import { MAX_URLS, newWebhook, type WebhookDraft } from './draft.ts'
import { WebhookFields } from './webhook-fields.tsx'

type EditorProps = {
  webhooks: readonly WebhookDraft[]
  onChange: (webhooks: readonly WebhookDraft[]) => void
  error: unknown
}

export function WebhooksEditor({ webhooks, onChange, error }: EditorProps) {
  const options = { items: webhooks, most: MAX_URLS, make: newWebhook, onChange }
  const list = useLimitedList(options)
  const fault = fieldError(error, '/webhooks')
  return (
    <Stack gap="sm">
      {webhooks.map((webhook, index) => (
        <WebhookFields
          key={webhook.key}
          webhook={webhook}
          index={index}
          isOnly={webhooks.length === 1}
          onChange={(changed) => list.change(webhook.key, changed)}
          error={error}
        />
      ))}
      {fault && <Alert color="red">{fault}</Alert>}
      <AddButton list={list} variant="default" size="sm">
        Add another URL
      </AddButton>
      {list.isTooMany && (
        <Alert color="yellow" role="alert" title="A destination can have up to five webhooks">
          Each event is sent to all webhooks at the same time. One success completes the delivery: webhooks
          that failed are not retried. If another system must receive every event, set up another Webhooks
          destination for the same sources.
        </Alert>
      )}
    </Stack>
  )
}
