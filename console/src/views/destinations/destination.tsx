import { Alert, Stack, Tabs, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useLocation } from 'wouter'
import { type Destination, useDeleteDestination, useDestination } from '../../api/destinations.ts'
import { useMayManage } from '../../api/session.ts'
import { DeletePanel } from '../../ui/form/delete-panel.tsx'
import { Editing } from '../../ui/form/editing.tsx'
import { Loaded, LoadingView } from '../../ui/layout/loaded.tsx'
import { MissingPage } from '../../ui/layout/missing.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { OnOffBadge } from '../../ui/values/state-badge.tsx'
import { ReplayEvents } from '../replays/replay-events.tsx'
import { TestSend } from '../test-send/test-send.tsx'
import { WorkspaceBadge } from '../workspaces.tsx'
import { DeliveryList } from './deliveries/delivery-list.tsx'
import { DestinationHealth } from './health/health.tsx'
import { OnOff, PauseButton } from './on-off.tsx'
import { SecretRotation } from './secret-rotation.tsx'
import { SettingsForm } from './settings-form.tsx'

/** Loaded on first use: large, and rarely needed. */
const DestinationRules = lazy(() => import('../rules/rules.tsx'))

const TABS = [
  { id: 'health', label: 'Health' },
  { id: 'deliveries', label: 'Deliveries' },
  { id: 'settings', label: 'Settings' },
  { id: 'rules', label: 'Rules' },
  { id: 'test', label: 'Test' },
  { id: 'secret', label: 'Secret' },
  { id: 'replay', label: 'Replay' },
]
/** For the view token. */
const VIEW_TABS = ['health', 'deliveries']

export default function DestinationPage({ id, tab = 'health' }: { id: string; tab?: string | undefined }) {
  const query = useDestination(id)
  const mayManage = useMayManage('destinations')
  return (
    <Loaded query={query} missing={<MissingPage what="destination" />}>
      {(destination) => (
        <Page
          title={destination.name}
          parent={{ title: 'Destinations', to: '/destinations' }}
          beside={<WorkspaceBadge {...destination} />}
          actions={mayManage ? <Switches destination={destination} /> : <OnOffBadge {...destination} />}
        >
          {destination.enabled && destination.paused && <PausedAlert />}
          <DestinationTabs destination={destination} tab={tab} />
        </Page>
      )}
    </Loaded>
  )
}

function DestinationTabs({ destination, tab }: { destination: Destination; tab: string }) {
  const { id } = destination
  const mayManage = useMayManage('destinations')
  const [, go] = useLocation()
  const tabs = TABS.filter((each) => mayManage || VIEW_TABS.includes(each.id))
  return (
    <Tabs
      value={tabs.some((each) => each.id === tab) ? tab : 'health'}
      onChange={(next) => go(`/destinations/${id}/${next}`, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List mb="md">
        {tabs.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="health">
        <DestinationHealth destination={destination} />
      </Tabs.Panel>
      <Tabs.Panel value="deliveries">
        <DeliveryList destinationId={id} />
      </Tabs.Panel>
      <Tabs.Panel value="settings">
        <DestinationSettings destination={destination} />
      </Tabs.Panel>
      <Tabs.Panel value="rules">
        <Suspense fallback={<LoadingView />}>
          <DestinationRules destination={destination} />
        </Suspense>
      </Tabs.Panel>
      <Tabs.Panel value="test">
        <TestPanel destination={destination} />
      </Tabs.Panel>
      <Tabs.Panel value="secret">
        <SecretRotation destination={destination} />
      </Tabs.Panel>
      <Tabs.Panel value="replay">
        <ReplayEvents destination={destination} />
      </Tabs.Panel>
    </Tabs>
  )
}

function Switches({ destination }: { destination: Destination }) {
  const state = destination.enabled ? 'On' : 'Off'
  return (
    <>
      <PauseButton destination={destination} />
      <OnOff
        destination={destination}
        label={state}
        ariaLabel={`${destination.name} is ${state.toLowerCase()}`}
      />
    </>
  )
}

const PausedAlert = () => (
  <Alert color="yellow" title="This destination is paused">
    <Text size="sm">
      Deliveries are held and sent after you resume it, within a quarter of the length of the pause. Time on
      hold does not count towards the retry window.
    </Text>
  </Alert>
)

function DestinationSettings({ destination }: { destination: Destination }) {
  return (
    <Stack>
      <Editing latest={destination}>{(edited, key) => <SettingsForm key={key} {...edited} />}</Editing>
      <DeleteDestination destination={destination} />
    </Stack>
  )
}

const DeleteDestination = ({ destination: { id, name } }: { destination: Destination }) => (
  <DeletePanel
    what="destination"
    name={name}
    lead="Stops all deliveries to it and cancels those that are waiting."
    warning="Its URLs, headers and secret are deleted, and its dead letters can no longer be replayed. You cannot undo this."
    mutation={useDeleteDestination(id)}
  />
)

function TestPanel({ destination }: { destination: Destination }) {
  return (
    <Panel
      title="Test send"
      lead="Sends a sample or your own call to each webhook, signed like a real delivery."
    >
      <TestSend destination={destination} />
    </Panel>
  )
}
