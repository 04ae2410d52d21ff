import { Alert, Anchor, Stack, Tabs } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { useDestinations } from '../../api/destinations.ts'
import { useMayWrite } from '../../api/session.ts'
import { type Source, useSource } from '../../api/sources.ts'
import { Loaded } from '../../ui/layout/loaded.tsx'
import { MissingPage } from '../../ui/layout/missing.tsx'
import { Page } from '../../ui/layout/page.tsx'
import { OnOffBadge } from '../../ui/values/state-badge.tsx'
import { LiveCalls } from '../live/live-calls.tsx'
import { Connect } from './connect.tsx'
import { SourceSettings } from './source-settings.tsx'

const TABS = ['live', 'settings']

export default function SourcePage({ id, tab = 'live' }: { id: string; tab?: string | undefined }) {
  const query = useSource(id)
  const mayWrite = useMayWrite()
  const [, go] = useLocation()
  return (
    <Loaded query={query} missing={<MissingPage what="source" />}>
      {(source) => (
        <Page
          title={source.name}
          parent={{ title: 'Sources', to: '/sources' }}
          beside={<OnOffBadge {...source} />}
        >
          <Tabs
            value={mayWrite && TABS.includes(tab) ? tab : 'live'}
            onChange={(next) => go(`/sources/${id}/${next}`, { replace: true })}
            keepMounted={false}
          >
            <Tabs.List mb="md">
              <Tabs.Tab value="live">Live</Tabs.Tab>
              {mayWrite && <Tabs.Tab value="settings">Settings</Tabs.Tab>}
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
        </Page>
      )}
    </Loaded>
  )
}

const hintFor = ({ kind }: Source): string =>
  kind === 'notices'
    ? 'Notices appear here as soon as Sluice sends them.'
    : 'Send one with a snippet above or with “Send test call”. It appears here immediately.'

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
