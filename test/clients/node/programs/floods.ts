// makes more calls than can be sent, with ids cut from a large text; prints how many were taken, and the bytes they
// need once memory is within its bound; run with --expose-gc
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Analytics, AnalyticsError, type Failure } from '../../../../clients/node/index.ts'
import { until } from '../../../helpers/until.ts'

const [endpoint = '', maxQueueBytes = '', memoryBytes = ''] = process.argv.slice(2)
/** Failures stay, and their handling never ends. */
const failed: Failure[] = []
const onFailure = (failure: Failure) => {
  failed.push(failure)
  return new Promise(() => {})
}
const analytics = new Analytics({ writeKey: 'k', endpoint, maxQueueBytes: Number(maxQueueBytes), onFailure })
const text = 'x'.repeat(800)

async function flood(count: number): Promise<number> {
  let taken = 0
  for (let number = 0; number < count; number++) {
    try {
      const messageId = `m-${number}`.padEnd(10_000).slice(0, 36)
      analytics.track({ messageId, userId: 'u1', event: 'Counted', properties: { number, text } })
      taken += 1
    } catch (error) {
      if (!(error instanceof AnalyticsError && error.code === 'queue_full')) throw error
    }
    if (number % 500 === 0) await nextTurn()
  }
  return taken
}

function memory(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

await flood(1)
const before = memory()
const taken = await flood(100_000)
let grown = 0
const isBounded = () => {
  grown = memory() - before
  return grown < Number(memoryBytes)
}
// Buffers are freed some turns after the collection that finds them
await until(isBounded).catch(() => {})
process.stdout.write(JSON.stringify({ taken, grown }))
process.exit()
