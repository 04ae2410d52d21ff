import { Session } from 'node:inspector/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Analytics as Peer } from '@segment/analytics-node'
import { Analytics, AnalyticsError } from '../../clients/node/index.ts'

/**
 * Usage: node.ts ours|peer URL CALLS. Makes calls with one library, waits until all are delivered, and prints the cost
 * as JSON.
 */
const [which = '', url = '', count = ''] = process.argv.slice(2)

/** Per turn of the event loop. */
const AT_ONCE = 100
const SAMPLE_BYTES = 256 * 1024

let failed = 0

type Library = { call(number: number): void | Promise<void>; close(): Promise<void> }

/** 400 bytes, as applications make it. */
const callOf = (number: number) => ({
  userId: 'user-1',
  event: 'Order Paid',
  properties: {
    orderId: number,
    total: 129.5,
    currency: 'EUR',
    coupon: 'SPRING',
    shipping: 4.9,
    affiliation: 'Web shop',
    category: 'Home and garden',
    returning: true,
  },
})

function ours(): Library {
  const analytics = new Analytics({
    writeKey: 'bench-write-key',
    endpoint: `${url}/v1/batch`,
    onFailure: ({ messages }) => {
      failed += messages.length
    },
  })
  const call = async (number: number): Promise<void> => {
    await analytics.room()
    analytics.track(callOf(number))
  }
  return {
    call(number) {
      try {
        analytics.track(callOf(number))
        return undefined
      } catch (error) {
        if (error instanceof AnalyticsError && error.code === 'queue_full') return call(number)
        throw error
      }
    },
    close: () => analytics.close(),
  }
}

function theirs(): Library {
  const analytics = new Peer({ writeKey: 'bench-write-key', host: url })
  analytics.on('error', () => {
    failed += 1
  })
  return {
    call: (number) => analytics.track(callOf(number)),
    close: () => analytics.closeAndFlush({ timeout: 120_000 }),
  }
}

async function makeCalls(library: Library): Promise<void> {
  for (let number = 0; number < Number(count); number++) {
    const waiting = library.call(number)
    if (waiting) await waiting
    if (number % AT_ONCE === 0) await nextTurn()
  }
}

/** Bytes allocated while `act` ran, by sampling. */
async function allocated(act: () => Promise<void>): Promise<number> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLE_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  })
  await act()
  const { profile } = await session.post('HeapProfiler.stopSampling')
  session.disconnect()
  type Node = typeof profile.head
  const sum = (node: Node): number =>
    node.selfSize + node.children.reduce((total, child) => total + sum(child), 0)
  return sum(profile.head)
}

const library = which === 'ours' ? ours() : theirs()
const start = performance.now()
const before = process.cpuUsage()
const allocatedBytes = await allocated(async () => {
  await makeCalls(library)
  await library.close()
})
const deliveredSeconds = (performance.now() - start) / 1_000
const { user, system } = process.cpuUsage(before)
const cpuSeconds = (user + system) / 1_000_000
process.stdout.write(
  `${JSON.stringify({ calls: Number(count), failed, deliveredSeconds, cpuSeconds, allocatedBytes })}\n`,
)
