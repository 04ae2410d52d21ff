import { Empty } from './empty.tsx'
import { Page } from './page.tsx'

const LISTS = {
  destination: { title: 'Destinations', to: '/destinations' },
  source: { title: 'Sources', to: '/sources' },
}

type MissingProps = { what: keyof typeof LISTS }

export const MissingPage = ({ what }: MissingProps) => (
  <Page title={`No such ${what}`} parent={LISTS[what]}>
    <Missing what={what} />
  </Page>
)

export function Missing({ what }: MissingProps) {
  const { title, to } = LISTS[what]
  return (
    <Empty
      icon="search"
      title={`This ${what} does not exist`}
      action={{ label: `Go to ${title.toLowerCase()}`, to }}
    >
      Check the address. The {what} may also have been deleted.
    </Empty>
  )
}
