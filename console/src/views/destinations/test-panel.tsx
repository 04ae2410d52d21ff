import type { Destination } from '../../api/destinations.ts'
import { Panel } from '../../parts/panel.tsx'
import { TestSend } from '../webhooks/test-send.tsx'

export function TestPanel({ destination }: { destination: Destination }) {
  return (
    <Panel
      title="Test send"
      lead="Posts a sample to each URL now, through the same code as a delivery, signature included."
    >
      <TestSend destination={destination} />
    </Panel>
  )
}
