import { Page } from '../../parts/page.tsx'

export default function View() {
  return <Page title="Soon">soon</Page>
}
