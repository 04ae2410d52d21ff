import { begunLate, type Tail } from '../../../kafka/tables/tail.ts'
import type { Logger } from '../../../process/log.ts'
import { within, withTimeout } from '../../../process/timeout.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Who } from '../../../settings/mask.ts'
import { auditSearch } from '../../api/audit.ts'
import type { Caller, TokenLimits } from '../../api/auth/tokens.ts'
import { CLIENT_WAIT_MS, createLimit } from '../../api/concurrency.ts'
import { type ApiResponse, problem } from '../../api/response.ts'
import type { RecentRecords, RecordPosition } from './recent-records.ts'

/** `loaded` never rejects. */
export type Loading = { loaded: Promise<void>; isLoaded(): boolean }

/** `isFresh`: Kafka has answered recently, so nothing newer is missing. */
export type Followed = Loading & { isFresh(): boolean }

/** Without an answer from Kafka for so long, responses are 503. */
export const STALE_MS = 30_000

export function followed(tail: Tail, recent: Pick<RecentRecords<RecordPosition>, 'begunLate'>): Followed {
  let isLoaded = false
  const loaded = tail.caughtUp.then(() => {
    recent.begunLate(begunLate(tail))
    isLoaded = true
  })
  const isFresh = () => performance.now() - tail.fetchedAt() < STALE_MS
  return { loaded, isLoaded: () => isLoaded, isFresh }
}

/** A partial result would look complete. */
export const loading = problem(
  { code: 'unavailable', message: 'This process is still loading: try again in a moment' },
  { 'retry-after': '1' },
)

/** Nothing was changed. */
export const unreachable = problem(
  { code: 'unavailable', message: 'Kafka does not answer: try again in a moment' },
  { 'retry-after': '5' },
)

export const tooManySearches = problem(
  { code: 'too_many_searches', message: 'Too many searches: try again in a moment' },
  { 'retry-after': '1' },
)

export type SearchParts = {
  tokenLimits: Pick<TokenLimits, 'search' | 'isRepeated'>
  log: Pick<Logger, 'info'>
}

type Paging = 'cursor' | 'limit' | 'since' | 'until'
type Query = Partial<Record<'user' | 'userId' | 'anonymousId' | 'event' | Paging, unknown>>

/** Calls and shapes may put a user's name where the name of the event belongs. */
const canFindUser = ({ user, userId, anonymousId, event }: Query): boolean =>
  [user, userId, anonymousId, event].some((text) => text !== undefined)

/**
 * Counts and audits a search that can find a user. Even one that takes no time, because its range is empty, is an audit
 * line.
 * @param begin returns undefined if too many are in progress. The search is then not audited.
 * @param query of a list, which may be unable to find a user. For ten minutes, more pages, other ranges of time and
 * refreshes of it add no line.
 * @returns what began; undefined if too many are in progress, or if this network searches too often.
 */
export function searchForUser<T>(
  caller: Caller,
  { tokenLimits, log }: SearchParts,
  begin: () => T | undefined,
  query?: Query,
): T | undefined {
  if (query && !canFindUser(query)) return begin()
  if (tokenLimits.search(caller) !== undefined) return undefined
  const searching = begin()
  const { cursor, limit, since, until, ...filter } = query ?? {}
  if (searching && !(query && tokenLimits.isRepeated(caller, filter))) auditSearch(log, caller)
  return searching
}

/** The same for a search without a limit on how many run at once. @returns the answer if this network searches too often. */
export const searchRefusal = (caller: Caller, parts: SearchParts, query?: Query): ApiResponse | undefined =>
  searchForUser(caller, parts, () => true, query) ? undefined : tooManySearches

/** Runs a search, or answers 429. */
export type ViewerLimit = (who: Who, search: () => Promise<ApiResponse>) => Promise<ApiResponse>

/**
 * Of four searches at once, three may use the view token or workspace tokens: one place is left for administrators.
 * Workspaces together get two.
 */
const MAX_BY_VIEWERS = 3
const MAX_BY_WORKSPACES = 2

export function createViewerLimit(): ViewerLimit {
  const [viewers, workspaces] = [createLimit(MAX_BY_VIEWERS), createLimit(MAX_BY_WORKSPACES)]
  return async (who, search) => {
    if (who === 'admin') return search()
    const limited = async () => viewers(search) ?? tooManySearches
    return who === 'workspace' ? (workspaces(limited) ?? tooManySearches) : limited()
  }
}

export async function isLoadedSoon(
  { loaded, isLoaded }: Loading,
  timeoutMs = CLIENT_WAIT_MS,
): Promise<boolean> {
  if (!isLoaded()) await within(timeoutMs, loaded)
  return isLoaded()
}

export const areLoadedSoon = async (sources: readonly Loading[]): Promise<boolean> =>
  (await Promise.all(sources.map((source) => isLoadedSoon(source)))).every(Boolean)

/**
 * Answers 503 while `sources` are not loaded, or if `respond` fails or takes too long.
 * @param onFailed gets the error of `respond`.
 */
export async function answered(
  sources: readonly Loading[],
  respond: () => Promise<ApiResponse>,
  onFailed: (err: unknown) => void,
): Promise<ApiResponse> {
  if (!(await areLoadedSoon(sources))) return loading
  try {
    return await withTimeout(respond(), CLIENT_WAIT_MS)
  } catch (err) {
    onFailed(err)
    return unreachable
  }
}

export const UNREADABLE = ['undecodable', 'unknown_schema', 'registry_unreachable'] as const
export type Unreadable = (typeof UNREADABLE)[number]

/** Calls back at once, or once the registry has sent the schema. */
export type Decode<T> = (value: Buffer | null, onValue: (value: T) => void) => void

/** Each holds its fetch until the registry answers. */
const MAX_WAITING = 1_000

/** Skips what cannot be decoded, and never blocks. */
export function decodeOrSkip<T>(
  codec: Pick<Codec<T>, 'decode'>,
  onUnreadable: (reason: Unreadable) => void,
): Decode<T> {
  let waiting = 0
  return (value, onValue) => {
    if (waiting >= MAX_WAITING) return onUnreadable('registry_unreachable')
    const decoding = codec.decode(value)
    if (!(decoding instanceof Promise)) return take(decoding)
    waiting += 1
    void decoding.then(take).finally(() => {
      waiting -= 1
    })

    function take(decoded: Awaited<typeof decoding>): void {
      if (decoded.ok) onValue(decoded.value)
      else onUnreadable(decoded.reason)
    }
  }
}
