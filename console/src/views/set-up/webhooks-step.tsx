import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { faultAt } from '../../api/problem.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { WebhooksEditor } from '../webhooks/webhooks-editor.tsx'
import { type SetUp, STEPS } from './use-set-up.ts'

export function WebhooksStep({ setUp }: { setUp: SetUp }) {
  const { name, setName, webhooks, setWebhooks, goTo, error } = setUp
  return (
    <Stack>
      <TextInput
        label="Name"
        description="As you want to see this destination in lists."
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={faultAt(error, '/name')}
        maw={420}
      />
      <div>
        <Text size="sm" fw={600}>
          Where to send events
        </Text>
        <Text size="sm" c="dimmed">
          One to five URLs, which stand in for each other: an event is delivered when one of them takes it.
          Each may have up to five headers of its own, such as a token that your receiver asks for.
        </Text>
      </div>
      <WebhooksEditor webhooks={webhooks} onChange={setWebhooks} error={error} />
      <Refusal error={error} shown={isShown} />
      <Group justify="space-between">
        <Button variant="default" onClick={() => goTo(STEPS.sources)}>
          Back
        </Button>
        <Button onClick={() => goTo(STEPS.secret)} disabled={webhooks.every(({ url }) => url.trim() === '')}>
          Next: secret
        </Button>
      </Group>
    </Stack>
  )
}

const isShown = (pointer: string) => pointer === '/name' || pointer.startsWith('/webhooks')
