import { setTimeout as sleep } from 'node:timers/promises'
import type { PartitionAssigner } from 'kafkajs'
import { PartitionAssigners } from './kafkajs.ts'

/**
 * Kafka keeps members of other protocols out of a group. One of kafkajs's own name would let any program in that has the same group id: it
 * would be given partitions, and what it commits nobody else reads.
 */
const PROTOCOL = 'sluice'
const DRAIN_MS = 2_000
const COMMIT_WAIT_MS = 1_000

/**
 * Before a member joins the next generation of its group, what it has in flight may settle, for a bounded time, and is
 * committed: the partition's next owner then sends little of it again. kafkajs has no hook for that, but it asks each
 * assigner for its protocol just before joining, and tries again while that says `REBALANCE_IN_PROGRESS`.
 */
export function drainBeforeJoin(work: { inFlight(): number; giveUp(): void; commit(): Promise<void> }): {
  assigner: PartitionAssigner
  /** To be called when the group has been joined. */
  done(): void
} {
  // before the first join there is nothing to drain
  let state: 'idle' | 'draining' | 'drained' = 'drained'

  async function drain(): Promise<void> {
    state = 'draining'
    work.giveUp()
    const end = performance.now() + DRAIN_MS
    while (work.inFlight() > 0 && performance.now() < end) await sleep(10)
    await Promise.race([work.commit(), sleep(COMMIT_WAIT_MS)])
    state = 'drained'
  }

  return {
    assigner: (config) => {
      const assigner = PartitionAssigners.roundRobin(config)
      return {
        ...assigner,
        name: PROTOCOL,
        protocol(subscription) {
          if (state === 'idle') void drain()
          if (state !== 'drained')
            throw Object.assign(new Error('what is in flight settles first'), {
              type: 'REBALANCE_IN_PROGRESS',
            })
          return { ...assigner.protocol(subscription), name: PROTOCOL }
        },
      }
    },
    done() {
      state = 'idle'
    },
  }
}
