import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { Found } from './found.tsx'
import { SearchForm } from './search-form.tsx'
import { useSearched } from './use-searched.ts'

export default function Deliveries() {
  const [search, setSearch] = useSearched()
  const key = JSON.stringify(search)
  return (
    <Page
      title="Where is my event?"
      lead="Whether a call was accepted, to which destinations it went and why not to others, and what came of each attempt."
    >
      <SearchForm key={`form ${key}`} search={search} onSearch={setSearch} />
      {search ? (
        <Found key={key} search={search} />
      ) : (
        <Empty icon="search" title="Which event?">
          The message id is in the call, and in the header X-Message-Id of each webhook; live calls and dead
          letters lead here as well. With a user id you get that user’s events, newest first.
        </Empty>
      )}
    </Page>
  )
}
