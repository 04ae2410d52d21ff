import { type Forked, forkScript } from '../stack/forked.ts'
import type { Target } from './calls.ts'

export type LoadOptions = {
  url: string
  path: string
  /** Default: as the target takes it. */
  authorization?: string
  target: Target
  /** Write keys or tenants, used in turn: if their number divides 1,000, single call n has key n modulo that number. */
  keys: readonly string[]
  batch: number
  connections: number
  /** Requests at a fixed rate; without it, as fast as they are answered. */
  perSecond?: number
  /** When the first request is due (`nowUs`). Ids then begin with the call's number. */
  fromUs?: number
}

export type LoadReport = { requests: number; errors: number; p50Ms: number; p99Ms: number }

export type Load = Pick<Forked, 'pid' | 'stop'> & { since(): Promise<LoadReport> }

/** In a separate process. */
export function startLoad(options: LoadOptions): Load {
  const { ask, ...forked } = forkScript(new URL('./load.ts', import.meta.url), JSON.stringify(options))
  return { ...forked, since: () => ask<LoadReport>('report') }
}
