import { Stack, Tabs } from '@mantine/core'
import { useLocation } from 'wouter'
import { type Destination, useDestination, useRemoveDestination } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { RemovePanel } from '../../ui/form/delete-panel.tsx'
import { Editing } from '../../ui/form/editing.tsx'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { OnOffState } from '../../ui/values/state-badge.tsx'
import { ReplayPanel } from '../replays/replay-events.tsx'
import { TestSend } from '../webhooks/test-send.tsx'
import { DestinationHealth } from './health/health.tsx'
import { OnOff } from './on-off.tsx'
import { SecretRotation } from './secret-rotation.tsx'
import { SettingsForm } from './settings-form.tsx'

const TABS = ['health', 'settings', 'test', 'secret', 'replay']

export default function OneDestination({ id, tab = 'health' }: { id: string; tab?: string | undefined }) {
  const query = useDestination(id)
  const mayWrite = useMayWrite()
  const [, go] = useLocation()
  return (
    <Loaded query={query}>
      {(destination) => (
        <Page
          title={destination.name}
          under={{ title: 'Destinations', to: '/destinations' }}
          actions={mayWrite ? <Switched destination={destination} /> : <OnOffState {...destination} />}
        >
          <Tabs
            value={mayWrite && TABS.includes(tab) ? tab : 'health'}
            onChange={(next) => go(`/destinations/${id}/${next}`, { replace: true })}
            keepMounted={false}
          >
            <Tabs.List mb="md">
              <Tabs.Tab value="health">Health</Tabs.Tab>
              {mayWrite && (
                <>
                  <Tabs.Tab value="settings">Settings</Tabs.Tab>
                  <Tabs.Tab value="test">Test</Tabs.Tab>
                  <Tabs.Tab value="secret">Secret</Tabs.Tab>
                  <Tabs.Tab value="replay">Replay</Tabs.Tab>
                </>
              )}
            </Tabs.List>
            <Tabs.Panel value="health">
              <DestinationHealth destination={destination} />
            </Tabs.Panel>
            <Tabs.Panel value="settings">
              <DestinationSettings destination={destination} />
            </Tabs.Panel>
            <Tabs.Panel value="test">
              <TestPanel destination={destination} />
            </Tabs.Panel>
            <Tabs.Panel value="secret">
              <SecretRotation destination={destination} />
            </Tabs.Panel>
            <Tabs.Panel value="replay">
              <ReplayPanel destination={destination} />
            </Tabs.Panel>
          </Tabs>
        </Page>
      )}
    </Loaded>
  )
}

function Switched({ destination }: { destination: Destination }) {
  const state = destination.enabled ? 'On' : 'Off'
  return (
    <OnOff destination={destination} label={state} spoken={`${destination.name} is ${state.toLowerCase()}`} />
  )
}

export function DestinationSettings({ destination }: { destination: Destination }) {
  return (
    <Stack>
      <Editing latest={destination}>{(edited, key) => <SettingsForm key={key} {...edited} />}</Editing>
      <RemoveDestination destination={destination} />
    </Stack>
  )
}

export const RemoveDestination = ({ destination: { id, name } }: { destination: Destination }) => (
  <RemovePanel
    what="destination"
    name={name}
    lead="Nothing more is sent to it, and what waits for it is given up."
    lost="Its URLs, headers and secret are gone then, and its dead letters cannot be replayed any more. This cannot be taken back."
    remove={useRemoveDestination(id)}
  />
)

export function TestPanel({ destination }: { destination: Destination }) {
  return (
    <Panel
      title="Test send"
      lead="Posts a sample to each URL now, through the same code as a delivery, signature included."
    >
      <TestSend destination={destination} />
    </Panel>
  )
}
