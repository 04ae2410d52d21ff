import type { LookupAddress, RecordWithTtl } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { LRUCache, type Perf } from 'lru-cache'
import { CodedError } from '../process/coded-error.ts'
import { canonical, type Hosts, localAddresses } from './hosts-file.ts'

/** `code`: ENOTFOUND, ETIMEOUT, ESERVFAIL or another code of c-ares. */
export class NameNotResolved extends CodedError {
  override name = 'NameNotResolved'
  constructor(host: string, code: string) {
    super(code, `${host} has no address: ${code}`)
  }
}

export type CachedResolver = {
  /** Never an empty list. @throws NameNotResolved within the limit. */
  addressesOf(host: string): Promise<readonly LookupAddress[]>
  close(): void
}

export type ResolverOptions = {
  hosts: Hosts
  /** `address:port` of each DNS server. Default: the servers in /etc/resolv.conf. */
  servers?: readonly string[] | undefined
  limits?: Limits
  maxNames?: number
  clock?: Perf
}

/** `graceMs`: for AAAA, once A has answered. */
export type Limits = { limitMs: number; graceMs: number }

/** By default, a delivery has 5 s in all. */
const LIMITS: Limits = { limitMs: 3_000, graceMs: 500 }
/** c-ares drops late answers to an earlier try, so tries are few and long. */
const TRIES = { timeout: 1_000, tries: 4, maxTimeout: 2_000 }
const MAX_NAMES = 10_000

/** One query per name at a time. Caches answers for their TTL. */
export function createResolver(options: ResolverOptions): CachedResolver {
  const { hosts, servers, limits = LIMITS, maxNames = MAX_NAMES, clock = performance } = options
  // getaddrinfo would hold one of libuv's four threads while a name server is silent
  const resolver = new Resolver(TRIES)
  if (servers) resolver.setServers(servers)
  const cache = new LRUCache<string, Resolved>({
    max: maxNames,
    // replaced by each answer's own
    ttl: 1,
    ttlResolution: 0,
    perf: clock,
    // a lookup in progress still answers after its entry was evicted
    ignoreFetchAbort: true,
    async fetchMethod(name, _stale, { options: entry }) {
      const resolved = await queryBoth(name, resolver, limits)
      entry.ttl = resolved.ttlMs
      return resolved
    },
  })

  async function addressesOf(host: string): Promise<readonly LookupAddress[]> {
    const name = canonical(host)
    const local = localAddresses(name, hosts)
    if (local) return local
    const resolved = await cache.forceFetch(name)
    if ('code' in resolved) throw new NameNotResolved(host, resolved.code)
    return resolved.addresses
  }

  return { addressesOf, close: () => resolver.cancel() }
}

type Query = (name: string, options: { ttl: true }) => Promise<RecordWithTtl[]>
type Queries = { resolve4: Query; resolve6: Query }

/** Both families at once. Never rejects; takes at most `limitMs`. */
function queryBoth(name: string, queries: Queries, { limitMs, graceMs }: Limits): Promise<Resolved> {
  const replies: Replies = { a: { code: 'ETIMEOUT' }, aaaa: { code: 'ETIMEOUT' } }
  const { promise, resolve } = Promise.withResolvers<Resolved>()
  let open = 2
  const end = () => {
    clearTimeout(limit)
    clearTimeout(grace)
    resolve(resolvedFrom(replies))
  }
  // the limits of c-ares may be a second late
  const limit = setTimeout(end, limitMs)
  let grace: NodeJS.Timeout | undefined

  async function take(family: keyof Replies, records: ReturnType<typeof reply>): Promise<void> {
    replies[family] = await records
    open -= 1
    if (open === 0) end()
    // AAAA waits for A: on a machine without IPv6, AAAA alone would fail all POSTs to the host while it is cached
    else if (family === 'a' && 'records' in replies.a) grace = setTimeout(end, graceMs)
  }
  void take('a', reply(queries.resolve4(name, { ttl: true })))
  void take('aaaa', reply(queries.resolve6(name, { ttl: true })))
  return promise
}

const reply = (query: ReturnType<Query>): Promise<Reply> =>
  query.then(
    (records) => ({ records }),
    (error: NodeJS.ErrnoException) => ({ code: error.code ?? 'ESERVFAIL' }),
  )

type Reply = { records: readonly RecordWithTtl[] } | { code: string }

export type Replies = { a: Reply; aaaa: Reply }

export type Resolved =
  | { addresses: readonly LookupAddress[]; ttlMs: number }
  | { code: string; ttlMs: number }

/** Concurrent connections share a query, and new ones follow a moved name within a minute. */
const TTL_MS = { min: 1_000, max: 60_000 }
/** The minimum of RFC 9520, 3.2. */
const FAILURE_MS = 1_000
/** Per family. A name server may send thousands. */
const MAX_ADDRESSES = 16

/** The name, or a record of this type, does not exist. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])

/** One family is enough: some name servers fail AAAA queries, or never answer them. */
export function resolvedFrom({ a, aaaa }: Replies): Resolved {
  const records = [...recordsOf(a), ...recordsOf(aaaa)]
  if (records.length === 0) return { code: failure([a, aaaa]), ttlMs: FAILURE_MS }
  const ttlMs = Math.min(...records.map(({ ttl }) => ttl * 1_000))
  return {
    addresses: [...toAddresses(a, 4), ...toAddresses(aaaa, 6)],
    ttlMs: hasFailed(a) ? FAILURE_MS : Math.min(Math.max(ttlMs, TTL_MS.min), TTL_MS.max),
  }
}

const hasFailed = (reply: Reply) => 'code' in reply && !NOTHING.has(reply.code)

const recordsOf = (reply: Reply) => ('records' in reply ? reply.records.slice(0, MAX_ADDRESSES) : [])

const toAddresses = (reply: Reply, family: 4 | 6) =>
  recordsOf(reply).map(({ address }): LookupAddress => ({ address, family }))

/** ENOTFOUND only when both queries say so: otherwise there may be an address. */
function failure(replies: readonly Reply[]): string {
  const codes = replies.map((reply) => ('code' in reply ? reply.code : 'ENODATA'))
  const trouble = codes.find((code) => !NOTHING.has(code))
  // the name servers refused; in the attempt log it would look like the receiver
  if (trouble === 'ECONNREFUSED') return 'ESERVFAIL'
  return trouble ?? 'ENOTFOUND'
}
