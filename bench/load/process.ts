import { type Forked, forkScript } from '../stack/forked.ts'

export type LoadOptions = {
  url: string
  path: string
  /** Taken in turn: with as many as divide 1,000, the n-th call has the n-th of them, round and round. */
  writeKeys: readonly string[]
  /** Calls in a request. */
  batch: number
  connections: number
  /** Requests, whatever the answers do; as fast as they are answered when absent. */
  perSecond?: number
  /** When the first is due (clock.ts). Then each call, which must be a single one, has a messageId that begins with its number. */
  fromUs?: number
  /** To a receiver: the number is in the header in which a delivery has it. */
  isStraight?: true
}

export type LoadReport = { requests: number; errors: number; p50Ms: number; p99Ms: number }

export type Load = Pick<Forked, 'pid' | 'stop'> & { since(): Promise<LoadReport> }

/** Starts the load generator in a process of its own. */
export function startLoad(options: LoadOptions): Load {
  const { ask, ...forked } = forkScript(new URL('./load.ts', import.meta.url), JSON.stringify(options))
  return { ...forked, since: () => ask<LoadReport>('report') }
}
