import { type Forked, forkScript } from '../stack/forked.ts'
import type { Schedule, WindowReport } from './tally.ts'

/** What bad endpoints do: no answer at all, 200 after 2 s, 503 at once, nothing listens, the connection is reset. */
export type Behaviour = 'answers' | 'silent' | 'slow' | 'failing' | 'refusing' | 'resetting'

export type Trouble = { bad: number; behaviour: Behaviour }
export type Instruction = { schedule: Schedule } | Trouble | 'report' | 'answered'

export type EndpointsReport = {
  windows: WindowReport[]
  /** First attempts that came since endpoints turned bad; what is refused does not come. */
  firsts: { healthy: number; bad: number }
}

export type Endpoints = Pick<Forked, 'pid' | 'stop'> & {
  urls: readonly string[]
  expect(schedule: Schedule): Promise<void>
  /** The first `bad` of them behave so from now on. */
  misbehave(trouble: Trouble): Promise<void>
  report(): Promise<EndpointsReport>
  /** How many requests the first `count` of them have answered in order. */
  answered(count: number): Promise<number>
}

/** The number of each webhook's host. Webhooks with the same number share an origin. */
export type Hosts = readonly number[]

/**
 * Starts webhooks to deliver to, all in one process.
 * @param endpoints how many, each with an origin of its own; or the host of each.
 */
export async function startEndpoints(endpoints: number | Hosts): Promise<Endpoints> {
  const hosts =
    typeof endpoints === 'number' ? Array.from({ length: endpoints }, (_, host) => host) : endpoints
  const script = new URL('./endpoints.ts', import.meta.url)
  const { ask, next, ...forked } = forkScript(script, JSON.stringify(hosts))
  return {
    ...forked,
    urls: await next<string[]>(),
    expect: (schedule) => ask<void>({ schedule }),
    misbehave: ({ bad, behaviour }) => ask<void>({ bad, behaviour }),
    report: () => ask<EndpointsReport>('report'),
    async answered(first) {
      const each = await ask<readonly number[]>('answered')
      return each.slice(0, first).reduce((sum, requests) => sum + requests, 0)
    },
  }
}
