import { Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { sendSampleCall } from '../../api/sample-call.ts'
import { Refusal } from '../../parts/refusal.tsx'

/** Sends a track call from this page, for a first look. */
export function SampleCall({ writeKey }: { writeKey: string }) {
  const sending = useMutation({ mutationFn: () => sendSampleCall(writeKey) })
  return (
    <Stack gap={4} align="flex-end">
      <Button variant="default" size="xs" onClick={() => sending.mutate()} loading={sending.isPending}>
        Send a test call
      </Button>
      {sending.isSuccess && (
        <Text size="xs" c="dimmed" role="status">
          Accepted: “Test Event” of test-user
        </Text>
      )}
      <Refusal error={sending.error} title="It was not accepted" />
    </Stack>
  )
}
