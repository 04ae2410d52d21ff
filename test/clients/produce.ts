/**
 * Sends many calls like an application with several producers: produce.ts ENDPOINT WRITE_KEY COUNT MAX_QUEUE [GATED]
 *
 * With GATED, the second half waits for a line on standard input. Prints as JSON how many calls threw, how many were
 * reported as lost, and the peak memory in bytes. Message ids are node-0, node-1 and so on.
 */
import { once } from 'node:events'
import { Analytics, AnalyticsError } from '../../clients/node/index.ts'

const PRODUCERS = 8
const [endpoint = '', writeKey = '', count = '', maxQueue = '', gated] = process.argv.slice(2)

const opened = gated ? once(process.stdin, 'data').then(() => process.stdin.destroy()) : Promise.resolve()

let [refused, lost] = [0, 0]
const analytics = new Analytics({
  writeKey,
  endpoint,
  maxQueue: Number(maxQueue),
  closeTimeout: 120_000,
  onFailure: ({ messages }) => {
    lost += messages.length
  },
})

const call = (number: number) => ({
  messageId: `node-${number}`,
  userId: `user-${number % 1_000}`,
  event: 'Order Paid',
  properties: { total: '12.50', currency: 'EUR', number },
})

async function send(number: number): Promise<void> {
  try {
    analytics.track(call(number))
  } catch (error) {
    if (!(error instanceof AnalyticsError) || error.code !== 'queue_full') {
      refused += 1
      return
    }
    await analytics.room()
    await send(number)
  }
}

async function produce(first: number): Promise<void> {
  for (let each = first; each < Number(count); each += PRODUCERS) {
    if (each >= Number(count) / 2) await opened
    await send(each)
  }
}

await Promise.all(Array.from({ length: PRODUCERS }, (_, producer) => produce(producer)))
await analytics.close()
const { maxRSS } = process.resourceUsage()
process.stdout.write(`${JSON.stringify({ refused, lost, maxRss: maxRSS * 1024 })}\n`)
