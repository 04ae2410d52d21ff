import { type Forked, forkScript } from '../stack/forked.ts'
import type { SinkReport } from './sink.ts'
import type { Schedule, WindowReport } from './tally.ts'

/** In this order: 200 at once, no answer, 200 after 2 s, 503 at once, connections refused, connections reset. */
export type Behaviour = 'answers' | 'silent' | 'slow' | 'failing' | 'refusing' | 'resetting'

export type Trouble = { bad: number; behaviour: Behaviour }
export type Instruction = { schedule: Schedule } | Trouble | 'report' | 'answered'

export type EndpointsReport = {
  windows: WindowReport[]
  /** First attempts since endpoints turned bad, without refused ones. */
  firsts: { healthy: number; bad: number }
}

export type Endpoints = Pick<Forked, 'pid' | 'stop'> & {
  urls: readonly string[]
  expect(schedule: Schedule): Promise<void>
  /** The first `bad` endpoints misbehave. */
  misbehave(trouble: Trouble): Promise<void>
  report(): Promise<EndpointsReport>
  /** Requests that the first `count` endpoints have answered normally. */
  answered(count: number): Promise<number>
}

/** The number of each webhook's host. Webhooks with the same number share an origin. */
export type Hosts = readonly number[]

/** In one separate process. @param endpoints their number, each with its own origin; or the host of each */
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

/** `since`: the report since the last call. */
export type Sink = Pick<Forked, 'pid' | 'stop'> & { port: number; since(): Promise<SinkReport> }

/** In a separate process. @param host 0.0.0.0 for all of 127.0.0.0/8 */
export async function startSink(host = '127.0.0.1'): Promise<Sink> {
  const { ask, next, ...forked } = forkScript(new URL('./sink.ts', import.meta.url), host)
  return { ...forked, port: await next<number>(), since: () => ask<SinkReport>('report') }
}
