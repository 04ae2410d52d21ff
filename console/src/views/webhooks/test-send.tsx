import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import {
  type Destination,
  EVENT_TYPES,
  type EventType,
  type TestResult,
  useTestSend,
} from '../../api/destinations.ts'
import { Outcome } from '../../ui/attempts/attempt-table.tsx'
import { Refusal } from '../../ui/error-alert.tsx'
import { duration } from '../../wording/format.ts'

/** Posts a sample to each URL now, and says what came of each. */
export function TestSend({ destination: { id, webhooks } }: { destination: Destination }) {
  const [type, setType] = useState<EventType>('track')
  const test = useTestSend(id)
  return (
    <Stack>
      <Group align="flex-end">
        <NativeSelect
          label="Sample"
          value={type}
          onChange={(event) =>
            setType(EVENT_TYPES.find((one) => one === event.currentTarget.value) ?? 'track')
          }
          data={[...EVENT_TYPES]}
        />
        <Button onClick={() => test.mutate(type)} loading={test.isPending}>
          Send test
        </Button>
        <Text size="xs" c="dimmed" maw={420}>
          Goes to {webhooks.length === 1 ? 'the URL' : `all ${webhooks.length} URLs`} now, also while the
          destination is off, as user “test-user”. It is not tried again.
        </Text>
      </Group>
      <Refusal error={test.error} title="The test may not have been sent" />
      <div role="status">{test.data && <Results results={test.data.results} />}</div>
    </Stack>
  )
}

function Results({ results }: { results: readonly TestResult[] }) {
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {results.map((result, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: one for each webhook, in their order
        <li key={index}>
          <Text size="sm" ff="monospace" className="in-flow">
            {result.url}
          </Text>
          <Group gap="xs" align="flex-start">
            <div>
              <Outcome attempt={result} />
            </div>
            <Text size="sm" c="dimmed">
              after {duration(result.durationMs)}
            </Text>
          </Group>
          {result.outcome === 'rejected' && (
            <Text size="sm" c="dimmed">
              Only a 2xx answer delivers an event. 3xx and 4xx reject it, and it is not retried.
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}
