/**
 * Upstream: tulios/kafkajs#1704, #1556, #1751 (open), fix in #1667; src/network/requestQueue/index.js.
 * Without it: after its first answer, each connection checks every millisecond for requests to send, and every 100 ms
 * for requests that have timed out. An idle process with 36 connections wakes up hundreds of times a second, and Node
 * 24 warns about the negative timeout.
 * Until: test/kafka/idle-requests.test.ts passes without it.
 */
import { prototypeOf } from '../internals.ts'

type RequestQueue = {
  pending: unknown[]
  inflight: Map<number, { sentAt: number; requestTimeout: number; timeoutRequest(): void }>
  enforceRequestTimeout: boolean
  isConnected(): boolean
  scheduleCheckPendingRequests(): void
  scheduleRequestTimeoutCheck(): void
  destroy(): void
}

/** How late a request may time out. */
const TIMEOUT_CHECK_MS = 250

export function stopIdlePolling(): void {
  const queue = prototypeOf<RequestQueue>('network/requestQueue')
  const { scheduleCheckPendingRequests } = queue
  queue.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this)
  }
  shareTimeoutChecks(queue)
}

/** One timer checks the requests of all connections. */
function shareTimeoutChecks(queue: RequestQueue): void {
  const { destroy } = queue
  const connected = new Set<RequestQueue>()
  let checking: NodeJS.Timeout | undefined

  function check(): void {
    for (const each of connected) {
      for (const request of each.inflight.values())
        if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest()
      if (!each.isConnected()) each.destroy()
    }
  }

  queue.scheduleRequestTimeoutCheck = function () {
    if (!this.enforceRequestTimeout) return
    connected.add(this)
    checking ??= setInterval(check, TIMEOUT_CHECK_MS)
  }
  queue.destroy = function () {
    destroy.call(this)
    connected.delete(this)
    if (connected.size > 0) return
    clearInterval(checking)
    checking = undefined
  }
}
