import { useQuery } from '@tanstack/react-query'
import { allDestinations } from '../../api/destinations.ts'
import { allSources } from '../../api/sources.ts'

/** @returns the name that an id stands for; the id itself while that is not known, or there is no such thing any more. */
type NameOf = (id: string) => string

export const useDestinationNames = (): NameOf =>
  nameIn(useQuery({ ...allDestinations, select: namesOf }).data)

export const useSourceNames = (): NameOf => nameIn(useQuery({ ...allSources, select: namesOf }).data)

const namesOf = (all: readonly { id: string; name: string }[]): ReadonlyMap<string, string> =>
  new Map(all.map(({ id, name }) => [id, name]))

const nameIn =
  (names: ReadonlyMap<string, string> | undefined): NameOf =>
  (id) =>
    names?.get(id) ?? id

/** By name, as people know it; the id where the pointer rests. */
export function DestinationName({ id }: { id: string }) {
  const nameOf = useDestinationNames()
  return <span title={id}>{nameOf(id)}</span>
}

export function SourceName({ id }: { id: string }) {
  const nameOf = useSourceNames()
  return <span title={id}>{nameOf(id)}</span>
}
