import type { Fault } from '../http/answer.ts'
import { pointer } from '../http/pointer.ts'
import type { Facts } from './noun.ts'

/** What is wrong with the id of a source in a record that speaks of it. What is no string its shape refuses. */
export function unknownSource(
  id: unknown,
  { facts, path }: { facts: Pick<Facts, 'sources' | 'unreadable'>; path: readonly PropertyKey[] },
): Fault[] {
  // one whose record cannot be read is there
  if (typeof id !== 'string' || facts.sources.has(id) || facts.unreadable.has(`source/${id}`)) return []
  const message = `there is no source ${JSON.stringify(id)}: create it first, or do not name it`
  return [{ pointer: pointer(path), code: 'unknown_source', message }]
}
