/**
 * Upstream: no issue; src/consumer/consumerGroup.js has no hook before a member joins again. It asks each assigner for
 * its protocol first, and retries while that throws REBALANCE_IN_PROGRESS.
 * Without it: the next owner of a partition repeats whatever was in flight at the rebalance.
 * Until: the client awaits a callback before it joins; test/flow/kafka.consume.test.ts, "rebalance".
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { PartitionAssigner } from 'kafkajs'
import { within } from '../../../process/timeout.ts'
import { PartitionAssigners } from '../kafkajs.ts'

/**
 * Kafka keeps members with another protocol out. Otherwise a program with the same group id could join and commit
 * records that Sluice has not handled.
 */
const PROTOCOL = 'sluice'

/** Round robin, among members with this protocol. */
export const soleAssigner: PartitionAssigner = (config) => {
  const assigner = PartitionAssigners.roundRobin(config)
  return {
    ...assigner,
    name: PROTOCOL,
    protocol: (subscription) => ({ ...assigner.protocol(subscription), name: PROTOCOL }),
  }
}

const DRAIN_MS = 2_000
const COMMIT_MS = 1_000

export function drainBeforeJoin(work: { inFlight(): number; giveUp(): void; commit(): Promise<void> }): {
  assigner: PartitionAssigner
  /** Call it after each join. */
  joined(): void
  isJoining(): boolean
} {
  // before the first join there is nothing to drain
  let state: 'idle' | 'draining' | 'drained' = 'drained'

  async function drain(): Promise<void> {
    state = 'draining'
    work.giveUp()
    const end = performance.now() + DRAIN_MS
    while (work.inFlight() > 0 && performance.now() < end) await sleep(10)
    await within(COMMIT_MS, work.commit())
    state = 'drained'
  }

  return {
    assigner: (config) => {
      const assigner = soleAssigner(config)
      return {
        ...assigner,
        protocol(subscription) {
          if (state === 'idle') void drain()
          if (state !== 'drained')
            throw Object.assign(new Error('records in flight settle first'), {
              type: 'REBALANCE_IN_PROGRESS',
            })
          return assigner.protocol(subscription)
        },
      }
    },
    joined() {
      state = 'idle'
    },
    isJoining: () => state !== 'idle',
  }
}
