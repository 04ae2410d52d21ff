import { Code, Group, Tabs, Text } from '@mantine/core'
import { ingestAddress } from '../../api/ingest-address.ts'
import { useMayWrite } from '../../api/session.ts'
import type { Source } from '../../api/sources.ts'
import { Copy } from '../../parts/copy.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Snippet } from '../../parts/snippet.tsx'
import { SampleCall } from './sample-call.tsx'
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
