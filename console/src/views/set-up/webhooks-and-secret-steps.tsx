import { Button, Code, Group, Radio, Stack, Text } from '@mantine/core'
import { fieldError, isConflict } from '../../api/client/errors.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { NameField } from '../../ui/form/draft.tsx'
import { EditConflict } from '../../ui/form/edit-conflict.tsx'
import { STEPS } from '../destinations/set-up-progress.ts'
import { SecretField } from '../webhooks/secret-field.tsx'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { destinationName, type Scheme } from './draft.ts'
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
          Enter up to five webhooks: each is a URL with up to five headers, for example for an access token.
          Each event is sent to all webhooks at the same time. One success completes the delivery: webhooks
          that failed are not retried.
        </Text>
      </div>
      <WebhooksEditor webhooks={webhooks} onChange={(webhooks) => change({ webhooks })} error={error} />
      <NameField value={destinationName(draft)} change={change} error={error} description="Shown in lists." />
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

function SchemeChoice({ scheme, onChange }: { scheme: Scheme; onChange: (scheme: Scheme) => void }) {
  return (
    <Radio.Group
      label="Signature"
      value={scheme}
      onChange={(chosen) => onChange(chosen === 'sha1' ? 'sha1' : 'standard')}
    >
      <Stack gap="xs" mt={6}>
        <Radio
          value="standard"
          label="Standard Webhooks, SHA-256 with a timestamp (recommended)"
          description={
            <>
              <Code>webhook-signature</Code> is the HMAC-SHA256 of the id, the time and the body, so that a
              request cannot be sent again later. Most languages have a library. <Code>X-Signature</Code> is
              sent as well.
            </>
          }
        />
        <Radio
          value="sha1"
          label="SHA-1 (compatible)"
          description={
            <>
              Only <Code>X-Signature</Code>: the HMAC-SHA1 of the body in lowercase hex, for receivers that
              already check it.
            </>
          }
        />
      </Stack>
    </Radio.Group>
  )
}

export function SecretStep({ setUp }: { setUp: SetUp }) {
  const { draft, change, goTo, save, isSaving, error, conflict } = setUp
  const { secret, hasSecret, scheme } = draft
  return (
    <Stack>
      <Text size="sm">
        With a shared secret, every request is signed so that your receiver can verify it.{' '}
        {hasSecret && 'A secret is already stored. Leave the field empty to keep it.'}
      </Text>
      <SchemeChoice scheme={scheme} onChange={(scheme) => change({ scheme })} />
      <SecretField
        isStandard={scheme === 'standard'}
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
