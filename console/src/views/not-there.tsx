import { Empty } from '../parts/empty.tsx'
import { Page } from '../parts/page.tsx'

export function NotThere() {
  return (
    <Page title="Nothing here">
      <Empty icon="search" title="There is no such page" action={{ label: 'Go to the overview', to: '/' }}>
        The address may be mistyped, or what it led to has been deleted.
      </Empty>
    </Page>
  )
}
