import { Page } from '../../parts/page.tsx'
import { Found } from './found.tsx'
import { SearchForm } from './search-form.tsx'
import { useSearched } from './use-searched.ts'

export default function Deliveries() {
  const [search, setSearch] = useSearched()
  return (
    <Page
      title="Where is my event?"
      lead="Whether a call was accepted, to which destinations it went and why not to others, and what came of each attempt."
    >
      <SearchForm key={JSON.stringify(search)} search={search} onSearch={setSearch} />
      <Found search={search} />
    </Page>
  )
}
