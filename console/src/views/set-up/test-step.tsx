import { Alert, Button, Group, Stack } from '@mantine/core'
import type { Destination } from '../../api/destinations.ts'
import { TestSend } from '../webhooks/test-send.tsx'

export function TestStep({ destination, onNext }: { destination: Destination; onNext: () => void }) {
  return (
    <Stack>
      <Alert color="green" title={`${destination.name} is saved, and still off`}>
        Try whether your receiver takes a sample, before events come.
      </Alert>
      <TestSend destination={destination} />
      <Group justify="flex-end">
        <Button onClick={onNext}>Next: turn on</Button>
      </Group>
    </Stack>
  )
}
