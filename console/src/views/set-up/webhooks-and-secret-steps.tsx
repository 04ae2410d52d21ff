import { Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { fieldError, isConflict } from '../../api/errors.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { EditConflict } from '../../ui/form/edit-conflict.tsx'
import { STEPS } from '../destinations/set-up-progress.ts'
import { SecretField } from '../webhooks/secret-field.tsx'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { destinationName } from './draft.ts'
import type { SetUp } from './use-set-up.ts'

export function WebhooksStep({ setUp: { draft, change, goTo, toSecret, error } }: { setUp: SetUp }) {
  const { webhooks } = draft
  return (
    <Stack>
      <div>
        <Text size="sm" fw={600}>
          Where to send events
        </Text>
        <Text size="sm" c="dimmed">
          Enter up to five URLs. Each event is sent to all URLs at the same time. One success completes the
          delivery: URLs that failed are not retried. Each URL can have up to five headers, for example an
          access token.
        </Text>
      </div>
      <WebhooksEditor webhooks={webhooks} onChange={(webhooks) => change({ webhooks })} error={error} />
      <TextInput
        label="Name"
        description="Shown in lists."
        value={destinationName(draft)}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={fieldError(error, '/name')}
        maw={420}
      />
      <ErrorAlert error={error} shown={isShown} />
      <Group justify="space-between">
        <Button variant="default" onClick={() => goTo(STEPS.sources)}>
          Back
        </Button>
        <Button onClick={toSecret} disabled={webhooks.every(({ url }) => url.trim() === '')}>
          Next: secret
        </Button>
      </Group>
    </Stack>
  )
}

const isShown = (pointer: string) => pointer === '/name' || pointer.startsWith('/webhooks')

export function SecretStep({ setUp }: { setUp: SetUp }) {
  const { draft, change, goTo, save, isSaving, error, conflict } = setUp
  const { secret, hasSecret } = draft
  return (
    <Stack>
      <Text size="sm">
        With a shared secret, every request is signed so that your receiver can verify it. The{' '}
        <Code>X-Signature</Code> header is the HMAC-SHA1 of the body, keyed with the secret, in lowercase hex.{' '}
        {hasSecret && 'A secret is already stored. Leave the field empty to keep it.'}
      </Text>
      <SecretField
        label={hasSecret ? 'New shared secret' : 'Shared secret (optional)'}
        value={secret}
        onChange={(secret) => change({ secret })}
        error={fieldError(error, '/sharedSecret')}
      />
      {conflict && isConflict(error) ? (
        <EditConflict {...conflict} onKeep={conflict.keepMine} />
      ) : (
        <ErrorAlert error={error} shown={(pointer) => pointer === '/sharedSecret'} />
      )}
      <Group justify="space-between">
        <Button variant="default" onClick={() => goTo(STEPS.webhooks)}>
          Back
        </Button>
        <Button onClick={() => void save()} loading={isSaving}>
          {secret === '' && !hasSecret ? 'Save without a secret' : 'Save'}
        </Button>
      </Group>
    </Stack>
  )
}
