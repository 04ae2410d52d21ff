import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** As far as it matters here (kafkajs 2.2.4, src/network/requestQueue/index.js). */
type Queue = { pending: unknown[]; scheduleCheckPendingRequests(): void }

/**
 * Has a connection look for requests that wait to be sent only while there are some. Left to itself kafkajs looks each millisecond, from a
 * connection's first answer on (tulios/kafkajs#1704): nearly half of what an idle process takes. For all clients in this process.
 */
export function restWithoutRequests(): void {
  const { prototype: queue }: { prototype: Queue } = require('kafkajs/src/network/requestQueue')
  const { scheduleCheckPendingRequests: schedule } = queue
  queue.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) schedule.call(this)
  }
}
