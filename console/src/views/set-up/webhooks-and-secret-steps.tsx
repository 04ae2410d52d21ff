import { Button, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { faultAt, isConflict } from '../../api/errors.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { ChangedMeanwhile } from '../../ui/form/edit-conflict.tsx'
import { STEPS } from '../destinations/set-up-progress.ts'
import { SecretField } from '../webhooks/secret-field.tsx'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { nameOf } from './draft.ts'
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
          Enter one to five URLs. Each event goes to every URL at once. One success settles the delivery: URLs
          that failed are not retried. Each URL can have up to five headers of its own, such as a token that
          your receiver asks for.
        </Text>
      </div>
      <WebhooksEditor webhooks={webhooks} onChange={(webhooks) => change({ webhooks })} error={error} />
      <TextInput
        label="Name"
        description="As you want to see this destination in lists."
        value={nameOf(draft)}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={faultAt(error, '/name')}
        maw={420}
      />
      <Refusal error={error} shown={isShown} />
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
        With a shared secret each POST is signed, so that your receiver can tell it from a forged one:{' '}
        <Code>X-Signature</Code> is the HMAC-SHA1 of the body, keyed by the secret, in lower-case hex.{' '}
        {hasSecret && 'One is stored: it stays, unless you give another.'}
      </Text>
      <SecretField
        label={hasSecret ? 'Another shared secret' : 'Shared secret (optional)'}
        value={secret}
        onChange={(secret) => change({ secret })}
        error={faultAt(error, '/sharedSecret')}
      />
      {conflict && isConflict(error) ? (
        <ChangedMeanwhile {...conflict} onKeep={conflict.keepMine} />
      ) : (
        <Refusal error={error} shown={(pointer) => pointer === '/sharedSecret'} />
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
