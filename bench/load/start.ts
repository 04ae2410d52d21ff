import { type Forked, forkScript } from '../stack/forked.ts'

export type LoadOptions = {
  url: string
  path: string
  /** Used in turn: if their number divides 1,000, call n always has key n modulo that number. */
  writeKeys: readonly string[]
  /** Calls per request. */
  batch: number
  connections: number
  /** Requests at a fixed rate; without it, as fast as they are answered. */
  perSecond?: number
  /**
   * When the first call is due (`nowUs`). Each call must then be a single one; its messageId begins with its number.
   */
  fromUs?: number
  /** Sends straight to a receiver. The number is then in a header, as in a delivery. */
  isStraight?: true
}

export type LoadReport = { requests: number; errors: number; p50Ms: number; p99Ms: number }

export type Load = Pick<Forked, 'pid' | 'stop'> & { since(): Promise<LoadReport> }

/** Starts the load generator as a separate process. */
export function startLoad(options: LoadOptions): Load {
  const { ask, ...forked } = forkScript(new URL('./load.ts', import.meta.url), JSON.stringify(options))
  return { ...forked, since: () => ask<LoadReport>('report') }
}
