import { z } from 'zod'
import { type Answer, type Ask, type Asked, type Fault, inShape, problemOf, refused } from '../api/ask.ts'
import type { Declared } from './declare.ts'
import { nameOf } from './form.ts'
import type { State } from './state.ts'

/** What the API says of a record of the files: where it would be another than now, as pointers; or what is wrong with it. */
export type Tried = { changed: ReadonlySet<string>; faults: readonly Fault[] }

/** By `nameOf`. */
export type Trials = ReadonlyMap<string, Tried>

const AT_ONCE = 8

/**
 * Has the API judge the destinations: it alone knows their secrets, and which addresses webhooks may not reach. All else
 * is decided here by the same rules.
 * @returns `stale`: something is another than in `state` by now. `read_only`: the token may not ask. @throws CliFault
 */
export async function tryOut(
  records: readonly Declared[],
  state: State,
  ask: Ask,
): Promise<Trials | 'stale' | 'read_only'> {
  const wanted = records.filter(({ collection }) => collection === 'destinations')
  const trials = new Map<string, Tried>()
  for (let first = 0; first < wanted.length; first += AT_ONCE) {
    const some = wanted.slice(first, first + AT_ONCE)
    const found = await Promise.all(some.map((record) => tryOne(record, state, ask)))
    for (const [index, tried] of found.entries()) {
      const record = some[index]
      if (typeof tried === 'string') return tried
      if (record) trials.set(nameOf(record), tried)
    }
  }
  return trials
}

async function tryOne(
  { id, body }: Declared,
  { destinations, sources }: State,
  ask: Ask,
): Promise<Tried | 'stale' | 'read_only'> {
  // a source may be made in the same run
  const known = Array.isArray(body.sourceIds) && body.sourceIds.filter((each) => sources.has(each))
  const before = destinations.get(id)
  const asked: Asked = {
    ...(before
      ? { method: 'PUT', path: `destinations/${id}`, ifMatch: before.version }
      : { method: 'POST', path: 'destinations' }),
    query: { dryRun: 'true' },
    json: { ...body, ...(known && { sourceIds: known }) },
  }
  return judge(await ask(asked), asked)
}

const draftShape = z.object({ changed: z.array(z.string()) })

function judge(answer: Answer, asked: Asked): Tried | 'stale' | 'read_only' {
  if (answer.status < 300) {
    const { changed } = inShape(answer, asked, draftShape)
    return { changed: new Set(changed), faults: [] }
  }
  const { code, errors } = problemOf(answer)
  if (code === 'read_only') return code
  if (['version_mismatch', 'not_found', 'id_taken'].includes(code)) return 'stale'
  if (errors.length === 0) throw refused(answer)
  return { changed: new Set(), faults: errors }
}
