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
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { formatDuration } from '../../wording/format.ts'

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
          Sends the sample to {webhooks.length === 1 ? 'the URL' : `all ${webhooks.length} URLs`} as user
          “test-user”, even if the destination is off. Tests are not retried.
        </Text>
      </Group>
      <ErrorAlert error={test.error} title="The test may not have been sent" />
      <div role="status">{test.data && <Results results={test.data.results} />}</div>
    </Stack>
  )
}

function Results({ results }: { results: readonly TestResult[] }) {
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {results.map((result, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: one per webhook, in a fixed order
        <li key={index}>
          <Text size="sm" ff="monospace" className="in-flow">
            {result.url}
          </Text>
          <Group gap="xs" align="flex-start">
            <div>
              <Outcome attempt={result} />
            </div>
            <Text size="sm" c="dimmed">
              after {formatDuration(result.durationMs)}
            </Text>
          </Group>
          {result.outcome === 'rejected' && (
            <Text size="sm" c="dimmed">
              Only a 2xx answer delivers an event. Events answered with 3xx or 4xx are rejected and not
              retried.
            </Text>
          )}
        </li>
      ))}
    </Stack>
  )
}
