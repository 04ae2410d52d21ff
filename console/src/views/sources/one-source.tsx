import { Stack, Tabs } from '@mantine/core'
import { useSource } from '../../api/sources.ts'
import { OnOffState } from '../../parts/badge.tsx'
import { Loaded } from '../../parts/loaded.tsx'
import { ForAdmin } from '../../parts/may-write.tsx'
import { Page } from '../../parts/page.tsx'
import { LiveCalls } from '../live/live-calls.tsx'
import { Connect } from './connect.tsx'
import { SourceSettings } from './source-settings.tsx'

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
