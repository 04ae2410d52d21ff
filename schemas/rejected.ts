// Written by `npm run schemas` from rejected.avsc: change that, not this.

/** One call that ingest refused, or a whole batch, in topic events.rejected. Key of the record: sourceId. */
export type Rejected = {
  /** Source whose write key the call carried. */
  sourceId: string
  /** Why it was refused, as in the answer's code. */
  code: string
  /** The same for people. */
  message: string
  /** What was sent, as it came; one call of a batch as JSON printed anew. */
  raw: string
  /** When ingest received it. */
  receivedAt: number
  /** Whether raw is only the beginning: a record must stay below Kafka's 1 MB. */
  truncated: boolean
}
