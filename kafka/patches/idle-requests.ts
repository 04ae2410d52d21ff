/**
 * Upstream: tulios/kafkajs#1704, #1556, #1751 (open), fix in #1667; src/network/requestQueue/index.js.
 * Without it: from its first answer on, each connection checks every millisecond for requests to send. That takes
 * nearly half of the CPU time of an idle process, and Node 24 warns about the negative timeout.
 * Until: test/kafka/idle-requests.test.ts passes without it.
 */
import { prototypeOf } from './internals.ts'

type RequestQueue = { pending: unknown[]; scheduleCheckPendingRequests(): void }

export function stopIdlePolling(): void {
  const queue = prototypeOf<RequestQueue>('network/requestQueue')
  const { scheduleCheckPendingRequests } = queue
  queue.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this)
  }
}
