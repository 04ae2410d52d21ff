import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { markdownTable } from '../../harness/results.ts'
import { type Goal, median, spread, verdict } from '../figures/summary.ts'
import { type Figures, type Load, measure, startBench } from './measure.ts'

/** Single calls with the key in the header, far below ingest's capacity. */
const HONEST: Load = { name: 'honest calls', path: '/v1/track', batch: 1, connections: 50, perSecond: 500 }
/** Requests a second of one client, from another address of this machine. */
const ATTACKS_A_SECOND = 200
const ATTACKER = '127.0.0.2'
const EVERY_MS = 1_000 / ATTACKS_A_SECOND

type Attack = { name: string; headers: Record<string, string>; body: Buffer }

const gzip = { 'content-encoding': 'gzip' }
/** Incompressible: just enough to stay below the inflation limit. */
const noise = randomBytes(4_500).toString('base64')

const attacks: readonly Attack[] = [
  {
    name: 'a wrong key in the header, 500 KB of `[` in 532 bytes',
    headers: { ...gzip, authorization: `Basic ${btoa('nobody:')}` },
    body: gzipSync('['.repeat(511_000)),
  },
  { name: 'no key, 500 KB of `[` in 532 bytes', headers: gzip, body: gzipSync('['.repeat(511_000)) },
  { name: 'no key, 500 KB of `[` in 5 KB', headers: gzip, body: gzipSync('['.repeat(505_000) + noise) },
  {
    name: 'no key, 500 KB of empty arrays in 5 KB',
    headers: gzip,
    body: gzipSync(`["${noise}"${',[]'.repeat(168_000)}]`),
  },
]

/** Measures honest calls alone and under each attack, alternating. */
export async function bench({ rounds = 3, measureMs = 10_000 } = {}): Promise<string> {
  await using started = await startBench()
  const { sluice } = started
  await measure(sluice, HONEST, measureMs) // leaves out compilation
  const rows: string[][] = []
  const goals: Goal[] = []
  for (const attack of attacks) {
    const alone: Figures[] = []
    const beside: Figures[] = []
    const statuses = new Map<number, number>()
    for (let round = 0; round < rounds; round++) {
      alone.push(await measure(sluice, HONEST, measureMs))
      await using _attacking = strike(sluice.url, attack, statuses)
      beside.push(await measure(sluice, HONEST, measureMs))
    }
    const ratio = median(p99s(beside)) / median(p99s(alone))
    const answered = [...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')
    rows.push([
      ...[attack.name, answered, spread(p99s(alone), 1), spread(p99s(beside), 1), ratio.toFixed(2)],
      ...[coreShare(alone), coreShare(beside)],
    ])
    goals.push({ what: `p99 under attack "${attack.name}", as a ratio`, is: ratio, atMost: 2 })
  }
  return [
    `${HONEST.perSecond} single calls a second on ${HONEST.connections} connections, and next to them ${ATTACKS_A_SECOND} requests a second from one client at another address,
none of which has a source's write key. Latency is from when a call was due. Median of ${rounds} alternating rounds, with the
lowest and the highest.`,
    markdownTable(HEAD, rows),
    verdict(goals),
  ].join('\n\n')
}

const HEAD = [
  ...['attack', 'answers', 'p99, ms, alone', 'p99, ms, under attack', 'ratio'],
  ...['core, %, alone', 'core, %, under attack'],
]

const p99s = (figures: readonly Figures[]) => figures.map(({ p99Ms }) => p99Ms)

/** In percent of a core. */
function coreShare(figures: readonly Figures[]): string {
  const shares = figures.map(({ perSecond, perCpuSecond }) => (perSecond / perCpuSecond) * 100)
  return spread(shares, 0)
}

/** At its rate, until disposed of. */
function strike(url: string, { headers, body }: Attack, statuses: Map<number, number>): AsyncDisposable {
  const agent = new Agent({ keepAlive: true, maxSockets: 20, localAddress: ATTACKER })
  const under = new Set<Promise<void>>()
  async function post(): Promise<void> {
    const sent = request(`${url}/v1/batch`, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-length': body.length },
    })
    sent.end(body)
    const [answer]: IncomingMessage[] = await once(sent, 'response')
    answer?.resume()
    if (answer) await once(answer, 'end')
    const status = answer?.statusCode ?? 0
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }
  const timer = setInterval(() => {
    const posting = post()
      .catch(() => void statuses.set(0, (statuses.get(0) ?? 0) + 1))
      .finally(() => under.delete(posting))
    under.add(posting)
  }, EVERY_MS)
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await Promise.all(under)
      agent.destroy()
    },
  }
}
