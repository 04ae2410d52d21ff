import { Alert, Anchor, Stack, Tabs, Text } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { useDestinations } from '../../api/destinations.ts'
import { useMayManage, useSeesAll } from '../../api/session.ts'
import { type Source, useSource } from '../../api/sources.ts'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { MissingPage } from '../../ui/layout/missing.tsx'
import { Page, Panel } from '../../ui/layout/page.tsx'
import { OnOffBadge } from '../../ui/values/state-badge.tsx'
import { visible } from '../../wording/visible.ts'
import { LiveCalls } from '../live/live-calls.tsx'
import { WorkspaceBadge } from '../workspaces.tsx'
import { Connect } from './connect.tsx'
import { SourceSettings } from './source-settings.tsx'

const TABS = ['live', 'settings']

export default function SourcePage({ id, tab = 'live' }: { id: string; tab?: string | undefined }) {
  const query = useSource(id)
  const mayManage = useMayManage('all')
  const seesAll = useSeesAll()
  const [, go] = useLocation()
  return (
    <Loaded query={query} missing={<MissingPage what="source" />}>
      {(source) => (
        <Page
          title={source.name}
          parent={{ title: 'Sources', to: '/sources' }}
          beside={
            <>
              <OnOffBadge {...source} />
              <WorkspaceBadge {...source} />
            </>
          }
        >
          {!seesAll && <InPortal sourceId={source.id} />}
          {seesAll && (
            <Tabs
              value={mayManage && TABS.includes(tab) ? tab : 'live'}
              onChange={(next) => go(`/sources/${id}/${next}`, { replace: true })}
              keepMounted={false}
            >
              <Tabs.List mb="md">
                <Tabs.Tab value="live">Live</Tabs.Tab>
                {mayManage && <Tabs.Tab value="settings">Settings</Tabs.Tab>}
              </Tabs.List>
              <Tabs.Panel value="live">
                <Stack>
                  <NotForwarded sourceId={source.id} />
                  <Connect source={source} />
                  <LiveCalls sourceId={source.id} hint={hintFor(source)} />
                </Stack>
              </Tabs.Panel>
              <Tabs.Panel value="settings">
                <SourceSettings source={source} />
              </Tabs.Panel>
            </Tabs>
          )}
        </Page>
      )}
    </Loaded>
  )
}

const hintFor = ({ kind }: Source): string =>
  kind === 'notices'
    ? 'Notices appear here as soon as Sluice sends them.'
    : 'Send one with a snippet above or with “Send test call”. It appears here immediately.'

/** Without what its calls contain. */
function InPortal({ sourceId }: { sourceId: string }) {
  const connected = useDestinations().data?.filter(({ sourceIds }) => sourceIds.includes(sourceId)) ?? []
  return (
    <Stack>
      <NotForwarded sourceId={sourceId} />
      {connected.length > 0 && (
        <Panel title="Destinations">
          {connected.map(({ id, name }) => (
            <Text key={id} className="in-flow">
              <Anchor component={Link} to={`/destinations/${id}`}>
                {visible(name)}
              </Anchor>
            </Text>
          ))}
        </Panel>
      )}
    </Stack>
  )
}

/** Calls without a destination are accepted, which otherwise shows only in their details. */
function NotForwarded({ sourceId }: { sourceId: string }) {
  const destinations = useDestinations().data
  const isForwarded = destinations?.some(({ enabled, sourceIds }) => enabled && sourceIds.includes(sourceId))
  if (isForwarded !== false) return null
  return (
    <Alert color="yellow" title="Calls of this source are not forwarded">
      Sluice accepts and stores them, but no destination that is on is connected to this source.{' '}
      <Anchor component={Link} to="/catalog/webhooks" size="sm">
        Set up Webhooks
      </Anchor>
      , or connect a destination in its settings.
    </Alert>
  )
}
