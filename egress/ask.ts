import type { RecordWithTtl } from 'node:dns'
import { type Answer, answerOf, type Replies, type Reply } from './answer.ts'

type Query = (name: string, options: { ttl: true }) => Promise<RecordWithTtl[]>
export type Queries = { resolve4: Query; resolve6: Query }

/** `graceMs`: so long the second family may take when the first is there. */
export type Limits = { limitMs: number; graceMs: number }

/** Asks for both families at once. Never rejects; takes at most `limitMs`, whatever name servers do. */
export function ask(name: string, queries: Queries, { limitMs, graceMs }: Limits): Promise<Answer> {
  const replies: Replies = { a: { code: 'ETIMEOUT' }, aaaa: { code: 'ETIMEOUT' } }
  const { promise, resolve } = Promise.withResolvers<Answer>()
  let open = 2
  const end = () => {
    clearTimeout(limit)
    clearTimeout(grace)
    resolve(answerOf(replies))
  }
  // c-ares has limits of its own, per try and server, but they are late by up to a second
  const limit = setTimeout(end, limitMs)
  let grace: NodeJS.Timeout | undefined

  async function take(family: keyof Replies, records: ReturnType<typeof reply>): Promise<void> {
    replies[family] = await records
    open -= 1
    if (open === 0) end()
    else if ('records' in replies[family]) grace = setTimeout(end, graceMs)
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
