import { useQuery } from '@tanstack/react-query'
import { allDestinations } from '../../api/destinations.ts'
import { allSources } from '../../api/sources.ts'
import { visible } from '../../wording/visible.ts'

/** @returns the id itself while names are loading or if the resource was deleted. */
type NameOf = (id: string) => string

export const useDestinationNames = (): NameOf =>
  lookup(useQuery({ ...allDestinations, select: namesOf }).data)

export const useSourceNames = (): NameOf => lookup(useQuery({ ...allSources, select: namesOf }).data)

const namesOf = (all: readonly { id: string; name: string }[]): ReadonlyMap<string, string> =>
  new Map(all.map(({ id, name }) => [id, name]))

const lookup =
  (names: ReadonlyMap<string, string> | undefined): NameOf =>
  (id) =>
    visible(names?.get(id) ?? id)

export function DestinationName({ id }: { id: string }) {
  const nameOf = useDestinationNames()
  return <span title={id}>{nameOf(id)}</span>
}

export function SourceName({ id }: { id: string }) {
  const nameOf = useSourceNames()
  return <span title={id}>{nameOf(id)}</span>
}
