import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { faultAt } from '../../api/problem.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { nameOf } from './draft.ts'
import { STEPS } from './left-off.ts'
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
