import { type Forked, forkScript } from '../stack/forked.ts'
import type { Schedule, WindowReport } from './tally.ts'

/** What bad endpoints do: no answer at all, 200 after 2 s, 503 at once, nothing listens. */
export type Behaviour = 'answers' | 'silent' | 'slow' | 'failing' | 'refusing'

export type Turn = { bad: number; behaviour: Behaviour }
export type Instruction = { schedule: Schedule } | Turn | 'report' | 'answered'

export type EndpointsReport = {
  windows: WindowReport[]
  /** First attempts that came since endpoints turned bad; what is refused does not come. */
  firsts: { healthy: number; bad: number }
}

export type Endpoints = Pick<Forked, 'pid' | 'stop'> & {
  urls: readonly string[]
  expect(schedule: Schedule): Promise<void>
  /** The first `bad` of them behave so from now on. */
  turn(turn: Turn): Promise<void>
  report(): Promise<EndpointsReport>
  /** How many requests the first `count` of them have answered in order. */
  answered(count: number): Promise<number>
}

/** Starts webhooks to deliver to, all of them in one process. */
export async function startEndpoints(count: number): Promise<Endpoints> {
  const { ask, next, ...forked } = forkScript(new URL('./endpoints.ts', import.meta.url), String(count))
  return {
    ...forked,
    urls: await next<string[]>(),
    expect: (schedule) => ask<void>({ schedule }),
    turn: ({ bad, behaviour }) => ask<void>({ bad, behaviour }),
    report: () => ask<EndpointsReport>('report'),
    async answered(first) {
      const each = await ask<readonly number[]>('answered')
      return each.slice(0, first).reduce((sum, requests) => sum + requests, 0)
    },
  }
}
