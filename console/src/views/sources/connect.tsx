import { Button, Code, Group, Stack, Tabs, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useMayManage } from '../../api/session.ts'
import { ingestAddress, type Source, sendSampleCall } from '../../api/sources.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { Panel } from '../../ui/layout/page.tsx'
import { Snippet } from '../../ui/values/code.tsx'
import { Copy } from '../../ui/values/copy.tsx'
import { snippets } from './snippets.ts'

type ConnectProps = { source: Source; lead?: string }

export const Connect = (props: ConnectProps) =>
  props.source.kind === 'notices' ? <Notices /> : <SendCalls {...props} />

const Notices = () => (
  <Panel title="Notices from Sluice">
    <Text size="sm">
      Sluice sends the calls of this source: one when a webhook fails or rejects events, and one when it works
      again. To receive them, connect the source to a destination, such as a Slack webhook.
    </Text>
  </Panel>
)

/** Only the admin sees write keys. */
function SendCalls({
  source: { writeKey, name },
  lead = 'Paste a snippet into a terminal or a program. The call appears below as soon as it arrives.',
}: ConnectProps) {
  const mayManage = useMayManage('all')
  const shown = mayManage ? writeKey : 'YOUR_WRITE_KEY'
  const texts = snippets({ writeKey: shown, endpoint: ingestAddress })
  return (
    <Panel title="Send calls" lead={lead} actions={mayManage && <TestCall writeKey={writeKey} />}>
      <Group gap="xs" mb="sm">
        <Text size="sm" fw={600}>
          Write key
        </Text>
        {mayManage ? (
          <>
            <Code fz="sm">{writeKey}</Code>
            <Copy text={writeKey} what={`write key of ${name}`} />
          </>
        ) : (
          <Text size="sm" c="dimmed">
            Only visible to the admin
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

function TestCall({ writeKey }: { writeKey: string }) {
  const sending = useMutation({ mutationFn: () => sendSampleCall(writeKey) })
  return (
    <Stack gap={4} align="flex-end">
      <Button variant="default" size="xs" onClick={() => sending.mutate()} loading={sending.isPending}>
        Send test call
      </Button>
      {sending.isSuccess && (
        <Text size="xs" c="dimmed" role="status">
          Accepted: “Test Event” from test-user
        </Text>
      )}
      <ErrorAlert error={sending.error} title="The call was not accepted" />
    </Stack>
  )
}
