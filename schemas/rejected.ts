// Written by `npm run schemas` from rejected.avsc: change that, not this.

/** One call that ingest refused, in topic events.rejected. Key of the record: sourceId. */
export type Rejected = {
  /** Source whose write key the call carried. */
  sourceId: string
  /** Why it was refused, as in the answer's code. */
  code: string
  /** The same for people. */
  message: string
  /** The call as JSON, as it came. */
  raw: string
  /** When ingest received it. */
  receivedAt: number
}
