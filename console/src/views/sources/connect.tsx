import { Button, Code, Group, Stack, Tabs, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useMayWrite } from '../../api/session.ts'
import { ingestAddress, type Source, sendSampleCall } from '../../api/sources.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { Snippet } from '../../ui/values/code.tsx'
import { Copy } from '../../ui/values/copy.tsx'
import { snippets } from './snippets.ts'

/** The write key, what to paste to send a call, and a call from here. Write keys are told to the admin alone. */
export function Connect({
  source: { writeKey, name },
  lead = 'Paste one of these into a terminal or a program: the call shows below as soon as it comes in.',
}: {
  source: Source
  lead?: string
}) {
  const mayWrite = useMayWrite()
  const shown = mayWrite ? writeKey : 'YOUR_WRITE_KEY'
  const texts = snippets({ writeKey: shown, endpoint: ingestAddress })
  return (
    <Panel title="Send calls" lead={lead} actions={mayWrite && <SampleCall writeKey={writeKey} />}>
      <Group gap="xs" mb="sm">
        <Text size="sm" fw={600}>
          Write key
        </Text>
        {mayWrite ? (
          <>
            <Code fz="sm">{writeKey}</Code>
            <Copy text={writeKey} what={`write key of ${name}`} />
          </>
        ) : (
          <Text size="sm" c="dimmed">
            is shown to the admin only
          </Text>
        )}
      </Group>
      <Tabs defaultValue="curl" variant="outline">
        <Tabs.List>
          {texts.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {texts.map(({ id, label, code, note }) => (
          <Tabs.Panel key={id} value={id} pt="sm">
            <Snippet code={code} what={`${label} snippet`} />
            {note && (
              <Text size="xs" c="dimmed">
                {note}
              </Text>
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Panel>
  )
}

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
