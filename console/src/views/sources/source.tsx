import { NativeSelect, SimpleGrid, Stack, Switch, Tabs, TextInput } from '@mantine/core'
import { useState } from 'react'
import { faultAt } from '../../api/errors.ts'
import { type Source, useRemoveSource, useReplaceSource, useSource } from '../../api/sources.ts'
import { ForAdmin } from '../../ui/for-admin.tsx'
import { RemovePanel } from '../../ui/form/delete-panel.tsx'
import { type Edited, Editing } from '../../ui/form/editing.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { OnOffState } from '../../ui/values/state-badge.tsx'
import { LiveCalls } from '../live/live-calls.tsx'
import { Connect } from './connect.tsx'
import { type Kind, KindField } from './kind-field.tsx'

export default function OneSource({ id }: { id: string }) {
  const query = useSource(id)
  return (
    <Loaded query={query}>
      {(source) => (
        <Page
          title={source.name}
          under={{ title: 'Sources', to: '/sources' }}
          beside={<OnOffState {...source} />}
        >
          <Tabs defaultValue="calls" keepMounted={false}>
            <Tabs.List mb="md">
              <Tabs.Tab value="calls">Connect and watch</Tabs.Tab>
              <ForAdmin>
                <Tabs.Tab value="settings">Settings</Tabs.Tab>
              </ForAdmin>
            </Tabs.List>
            <Tabs.Panel value="calls">
              <Stack>
                <Connect source={source} />
                <LiveCalls sourceId={source.id} />
              </Stack>
            </Tabs.Panel>
            <Tabs.Panel value="settings">
              <SourceSettings source={source} />
            </Tabs.Panel>
          </Tabs>
        </Page>
      )}
    </Loaded>
  )
}

export function SourceSettings({ source }: { source: Source }) {
  return (
    <Stack>
      <Editing latest={source}>{(edited, key) => <SettingsForm key={key} {...edited} />}</Editing>
      <RemoveSource source={source} />
    </Stack>
  )
}

const IPS = [
  { value: 'full', label: 'Full' },
  { value: 'truncated', label: 'Truncated (203.0.113.0)' },
  { value: 'none', label: 'None' },
]
const SHOWN = ['/name', '/rateLimit/perSecond', '/rateLimit/burst', '/rateLimit/bytesPerSecond']

function SettingsForm({ base, onSaved, form }: Edited<Source>) {
  const [name, setName] = useState(base.name)
  const [enabled, setEnabled] = useState(base.enabled)
  const [kind, setKind] = useState<Kind>(base.kind ?? 'server')
  const [ip, setIp] = useState(base.ip ?? 'full')
  const [dropsDuplicates, setDropsDuplicates] = useState(base.dedup !== 'off')
  const [perSecond, setPerSecond] = useState(String(base.rateLimit?.perSecond ?? ''))
  const [burst, setBurst] = useState(String(base.rateLimit?.burst ?? ''))
  const [bytes, setBytes] = useState(String(base.rateLimit?.bytesPerSecond ?? ''))
  const replace = useReplaceSource(base)
  function submit() {
    const { writeKey: _, rateLimit: __, kind: ___, ip: ____, dedup: _____, ...rest } = base
    const isLimited = perSecond !== '' || burst !== '' || bytes !== ''
    const rateLimit = {
      perSecond: Number(perSecond),
      burst: Number(burst || perSecond),
      ...(bytes !== '' && { bytesPerSecond: Number(bytes) }),
    }
    const chosen = {
      ...(kind !== 'server' && { kind }),
      ...(ip !== 'full' && { ip }),
      ...(!dropsDuplicates && { dedup: 'off' as const }),
    }
    replace.mutate(
      { ...rest, ...chosen, name, enabled, ...(isLimited && { rateLimit }) },
      { onSuccess: onSaved },
    )
  }
  return (
    <Panel title="Settings">
      <Form {...form} onSubmit={submit} saving={replace} shown={(pointer) => SHOWN.includes(pointer)}>
        <TextInput
          label="Name"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={faultAt(replace.error, '/name')}
          maw={420}
        />
        <Switch
          label="Takes calls"
          description="Off: calls are refused (403). Sluice’s client libraries try again for a minute; other clients drop their calls."
          checked={enabled}
          onChange={(event) => setEnabled(event.currentTarget.checked)}
        />
        <KindField value={kind} onChange={setKind} />
        <NativeSelect
          label="IP addresses"
          description="What is kept of context.ip, also where a call brings one."
          data={IPS}
          value={ip}
          // its options are the choices
          onChange={(event) => setIp(event.currentTarget.value as typeof ip)}
          maw={420}
        />
        <Switch
          label="Drops duplicates"
          description="Calls that come again with the same messageId are forwarded once. Off: they are forwarded each time."
          checked={dropsDuplicates}
          onChange={(event) => setDropsDuplicates(event.currentTarget.checked)}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} maw={420}>
          <TextInput
            type="number"
            label="Calls a second"
            description="In the long run; empty: no limit."
            value={perSecond}
            onChange={(event) => setPerSecond(event.currentTarget.value)}
            min={0}
            error={faultAt(replace.error, '/rateLimit/perSecond')}
          />
          <TextInput
            type="number"
            label="At once"
            description="As many may come in a burst."
            value={burst}
            onChange={(event) => setBurst(event.currentTarget.value)}
            min={0}
            error={faultAt(replace.error, '/rateLimit/burst')}
          />
          <TextInput
            type="number"
            label="Bytes a second"
            description="That its calls take in Kafka; empty: no limit. Needs a limit of calls too."
            value={bytes}
            onChange={(event) => setBytes(event.currentTarget.value)}
            min={0}
            error={faultAt(replace.error, '/rateLimit/bytesPerSecond')}
          />
        </SimpleGrid>
      </Form>
    </Panel>
  )
}

export const RemoveSource = ({ source: { id, name } }: { source: Source }) => (
  <RemovePanel
    what="source"
    name={name}
    lead="Its write key stops working at once. What it has sent stays, and is delivered."
    lost="Clients that send with its write key are refused from then on. This cannot be taken back."
    remove={useRemoveSource(id)}
  />
)
