/** What a watcher is told; docs/activity.md says what each holds. */
export type EventName =
  | 'call'
  | 'rejected'
  | 'attempt'
  | 'ready'
  | 'skipped'
  | 'health'
  | 'ingest'
  | 'lag'
  | 'unavailable'

/** A server-sent event. @param id the same when the same is sent again. */
export function sse(event: EventName, data: object, id?: string): string {
  const head = id === undefined ? '' : `id: ${id}\n`
  return `${head}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}

/** How long a client waits before it comes again. */
export const RETRY = 'retry: 2000\n\n'
/** Read by nobody: says to all between the two that the connection is in use. */
export const HEARTBEAT = ': still here\n\n'
