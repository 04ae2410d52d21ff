import { type Destination, useRemoveDestination } from '../../api/destinations.ts'
import { RemovePanel } from '../../parts/remove-panel.tsx'

export const RemoveDestination = ({ destination: { id, name } }: { destination: Destination }) => (
  <RemovePanel
    what="destination"
    name={name}
    lead="Nothing more is sent to it, and what waits for it is given up."
    lost="Its URLs, headers and secret are gone then, and its dead letters cannot be replayed any more. This cannot be taken back."
    remove={useRemoveDestination(id)}
  />
)
