/**
 * Upstream: no issue; `withBroker` in src/cluster/brokerPool.js drops the error of each broker that it asks.
 * Without it: if a process's user may not join its group, or use its transactional id, the process asks for a
 * coordinator forever. It never starts and logs nothing.
 * Until: test/kafka/refusals.test.ts passes without it.
 */
import { prototypeOf } from './internals.ts'

type Ask = (of: { nodeId: string; broker: unknown }) => Promise<unknown>
type BrokerPool = { withBroker(this: BrokerPool, ask: Ask): Promise<unknown> }

export function reportRefusals(): void {
  const pool = prototypeOf<BrokerPool>('cluster/brokerPool')
  const { withBroker } = pool
  pool.withBroker = async function (ask) {
    let refusal: unknown
    const answer = await withBroker.call(this, (of) =>
      ask(of).catch((error: unknown) => {
        if (isRefusal(error)) refusal = error
        throw error
      }),
    )
    // null: no broker answered
    if (answer === null && refusal !== undefined) throw refusal
    return answer
  }
}

/** The user lacks a permission. This is the same on all brokers. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'type' in error && String(error.type).endsWith('_AUTHORIZATION_FAILED')
