import type { LookupAddress, RecordWithTtl } from 'node:dns'

/** What came of one query, for A or for AAAA. `code` as c-ares names it. */
export type Reply = { records: readonly RecordWithTtl[] } | { code: string }

/** Both queries of a name. */
export type Replies = { a: Reply; aaaa: Reply }

/** Where a name is, and for how long that may be believed, in ms; or why it is not known. */
export type Answer = { addresses: readonly LookupAddress[]; ttlMs: number } | { code: string; ttlMs: number }

/** Bounds of what records say of themselves: many connections at once ask once; new ones follow a name that moves in a minute. */
const TTL_MS = { least: 1_000, most: 60_000 }
/** The least that RFC 9520, 3.2 asks for. */
const FAILURE_MS = 1_000
/** Of each family; a name server may send thousands. */
const MOST_ADDRESSES = 16

/** The servers have answered that there is nothing: neither the name, nor a record of this type. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])

/** One family's addresses are enough: name servers that know nothing of AAAA fail it, or never answer, beside a good A. */
export function answerOf({ a, aaaa }: Replies): Answer {
  const records = [...recordsOf(a), ...recordsOf(aaaa)]
  if (records.length === 0) return { code: failure([a, aaaa]), ttlMs: FAILURE_MS }
  const ttlMs = Math.min(...records.map(({ ttl }) => ttl * 1_000))
  return {
    addresses: [...toAddresses(a, 4), ...toAddresses(aaaa, 6)],
    ttlMs: Math.min(Math.max(ttlMs, TTL_MS.least), TTL_MS.most),
  }
}

const recordsOf = (reply: Reply) => ('records' in reply ? reply.records.slice(0, MOST_ADDRESSES) : [])

const toAddresses = (reply: Reply, family: 4 | 6) =>
  recordsOf(reply).map(({ address }): LookupAddress => ({ address, family }))

/** ENOTFOUND only when both queries were answered so: else the name may have an address that could not be learnt. */
function failure(replies: readonly Reply[]): string {
  const codes = replies.map((reply) => ('code' in reply ? reply.code : 'ENODATA'))
  const trouble = codes.find((code) => !NOTHING.has(code))
  // c-ares says so of the name servers; in an attempt's record it would be read as the receiver's
  if (trouble === 'ECONNREFUSED') return 'ESERVFAIL'
  return trouble ?? 'ENOTFOUND'
}
