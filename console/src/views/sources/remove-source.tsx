import { type Source, useRemoveSource } from '../../api/sources.ts'
import { RemovePanel } from '../../parts/remove-panel.tsx'

export const RemoveSource = ({ source: { id, name } }: { source: Source }) => (
  <RemovePanel
    what="source"
    name={name}
    lead="Its write key stops working at once. What it has sent stays, and is delivered."
    lost="Clients that send with its write key are refused from then on. This cannot be taken back."
    remove={useRemoveSource(id)}
  />
)
