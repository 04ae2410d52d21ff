// Written by `npm run schemas` from attempt.avsc: change that, not this.

/** Outcome of an attempt. */
export type AttemptOutcome = 'delivered' | 'retry' | 'refused' | 'cancelled' | 'deferred' | 'rejected'

/** One POST to one URL, or the decision not to make it, in topic attempts. Key of the record: destinationId. */
export type Attempt = {
  /** Id of the delivery, as in X-Delivery-Id. */
  deliveryId: string
  /** Id of the call, as in X-Message-Id. */
  messageId: string
  /** Source that the call came from. */
  sourceId: string
  /** Destination that it went to. */
  destinationId: string
  /** Position of the webhook in the destination, from 0. Null when no URL was chosen. */
  urlIndex: null | number
  /** Number of the attempt, from 1, as in X-Attempt. */
  attempt: number
  /** When it began. */
  startedAt: number
  /** How long it took, until the response's headers or the failure. */
  durationMs: number
  /** Its outcome. */
  outcome: AttemptOutcome
  /** Status of the response, when there was one. */
  status: null | number
  /** Reason if it was not delivered, such as http_5xx, http_404, timeout or ECONNREFUSED. */
  code: null | string
  /** First 1,024 bytes of the response's body. */
  response: null | string
}
