import { z } from 'zod'
import { batchesOf } from '../../process/batches.ts'
import {
  type Api,
  type ApiRequest,
  type ApiResponse,
  type Fault,
  parseBody,
  problemOf,
  refused,
} from '../api/client.ts'
import type { Declared } from './declare.ts'
import { nameOf } from './schema.ts'
import type { State } from './state.ts'

/** `changed`: pointers to fields that would change. */
export type DryRunResult = { changed: ReadonlySet<string>; faults: readonly Fault[] }

export type DryRuns = ReadonlyMap<string, DryRunResult>

const AT_ONCE = 8

/**
 * Lets the API check destinations: only it knows their secrets and the allowed addresses. Other records are checked
 * locally.
 * @returns `stale` if a record no longer matches `state`; `read_only` if the token may not do this.
 * @throws CliError
 */
export async function dryRun(
  records: readonly Declared[],
  state: State,
  api: Api,
): Promise<DryRuns | 'stale' | 'read_only'> {
  const chosen = records.filter(({ collection }) => collection === 'destinations')
  const dryRuns = new Map<string, DryRunResult>()
  for (const some of batchesOf(chosen, AT_ONCE)) {
    const found = await Promise.all(some.map((record) => dryRunOne(record, state, api)))
    for (const [index, tried] of found.entries()) {
      const record = some[index]
      if (typeof tried === 'string') return tried
      if (record) dryRuns.set(nameOf(record), tried)
    }
  }
  return dryRuns
}

async function dryRunOne(
  { id, body }: Declared,
  { destinations, sources }: State,
  api: Api,
): Promise<DryRunResult | 'stale' | 'read_only'> {
  // other sources may be created in this run
  const known = Array.isArray(body.sourceIds) && body.sourceIds.filter((each) => sources.has(each))
  const before = destinations.get(id)
  const request: ApiRequest = {
    ...(before
      ? { method: 'PUT', path: `destinations/${id}`, ifMatch: before.version }
      : { method: 'POST', path: 'destinations' }),
    query: { dryRun: 'true' },
    json: { ...body, ...(known && { sourceIds: known }) },
  }
  return judge(await api(request), request)
}

const draftShape = z.object({ changed: z.array(z.string()) })

function judge(answer: ApiResponse, request: ApiRequest): DryRunResult | 'stale' | 'read_only' {
  if (answer.status < 300) {
    const { changed } = parseBody(answer, request, draftShape)
    return { changed: new Set(changed), faults: [] }
  }
  const { code, errors } = problemOf(answer)
  if (code === 'read_only') return code
  if (['version_mismatch', 'not_found', 'id_taken'].includes(code)) return 'stale'
  if (errors.length === 0) throw refused(answer)
  return { changed: new Set(), faults: errors }
}
