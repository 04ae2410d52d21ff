import { type Forked, forkScript } from '../stack/forked.ts'
import type { SinkReport } from './sink.ts'

/** `since`: the report since the last call. */
export type Sink = Pick<Forked, 'pid' | 'stop'> & { port: number; since(): Promise<SinkReport> }

/**
 * Starts a receiver that answers 200 at once, as a separate process. @param host 0.0.0.0 for all addresses of
 * 127.0.0.0/8.
 */
export async function startSink(host = '127.0.0.1'): Promise<Sink> {
  const { ask, next, ...forked } = forkScript(new URL('./sink.ts', import.meta.url), host)
  return { ...forked, port: await next<number>(), since: () => ask<SinkReport>('report') }
}
