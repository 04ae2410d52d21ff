import { inject } from 'vitest'
import type { OwnBroker } from '../../harness/kafka/broker.ts'
import * as harness from '../../harness/kafka/broker.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import { until } from '../../harness/until.ts'
import { closing, connectTo } from './cluster.ts'

export { type OwnBroker, startOwnCluster } from '../../harness/kafka/broker.ts'

/** With the format of the run's broker. */
export const startOwnBroker = (options: harness.OwnBrokerOptions = {}): Promise<OwnBroker> =>
  harness.startOwnBroker({ formatOf: inject('kafkaFolder'), ...options })

let shared: Promise<OwnBroker> | undefined

/**
 * The broker of this test worker, to kill and restart. Close it before the next test borrows it. It still has the topics of
 * earlier tests. Between tests it is stopped (SIGSTOP): starting a broker costs 2 s of CPU, and an idle one uses CPU too.
 */
export async function borrowBroker(): Promise<OwnBroker> {
  // left-behind.ts knows this name
  shared ??= startOwnBroker({ purpose: 'worker' })
  const broker = await shared
  if (!signal(broker, 'SIGCONT')) await broker.restart('kill')
  const { kafka } = connectTo(broker.now.brokers)
  const serves = async () =>
    (await withAdmin({ kafka }, (admin) => admin.describeCluster())).brokers.length > 0
  await until(serves, { message: 'the broker serves' })
  return {
    get now() {
      return broker.now
    },
    restart: broker.restart,
    diskImage: broker.diskImage,
    close: async () => void signal(broker, 'SIGSTOP'),
  }
}

/** @returns whether the broker runs: the last test may have killed it. */
function signal({ now }: OwnBroker, name: NodeJS.Signals): boolean {
  try {
    process.kill(now.pid, name)
    return true
  } catch {
    return false
  }
}

/** Borrowed until the end of the test. */
export const ownBroker = async (): Promise<OwnBroker> => closing(await borrowBroker())
