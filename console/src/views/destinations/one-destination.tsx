import { Tabs } from '@mantine/core'
import { useLocation } from 'wouter'
import { type Destination, useDestination } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { OnOffState } from '../../parts/badge.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { Page } from '../../parts/page.tsx'
import { DestinationSettings } from './destination-settings.tsx'
import { DestinationHealth } from './health/destination-health.tsx'
import { OnOff } from './on-off.tsx'
import { ReplayPanel } from './replay-panel.tsx'
import { SecretRotation } from './secret-rotation.tsx'
import { TestPanel } from './test-panel.tsx'

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
