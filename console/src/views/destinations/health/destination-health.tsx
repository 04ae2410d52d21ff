import type { Destination } from '../../../api/destinations.ts'

export function DestinationHealth({ destination }: { destination: Destination }) {
  return <>{destination.name}</>
}
