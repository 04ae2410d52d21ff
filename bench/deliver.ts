import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import got from 'got'
import { freePort } from '../local/free-port.ts'
import { spawnTied } from '../local/tied.ts'
import { until } from '../test/helpers/until.ts'
import { prepareSystem, type System } from '../test/ingest/ingest-process.ts'
import { fillBacklog } from './deliver-backlog.ts'
import { cpuSeconds, pin } from './process.ts'
import { startStack } from './stack.ts'
import { markdownTable, median, spread, spreadOfCounts } from './stats.ts'

const ROUNDS = 4
const MEASURE_MS = 3_000
const CONCURRENCY = 512
const SECRET = 'bench-secret'
const MEASURED_CORE = 0
const OTHER_CORE = 1

type Figures = { perSecond: number; perCpuSecond: number }

/** @returns the section of RESULTS.md: signed POSTs answered 200 per core of the real process, against the bare client loop. */
export async function bench(): Promise<string> {
  await using stack = await startStack()
  await pin(stack.brokerPid, OTHER_CORE)
  const sink = script('sink.ts')
  const [port] = (await once(sink, 'message')) as [number]
  await pin(sink.pid ?? 0, OTHER_CORE)
  const url = `http://127.0.0.1:${port}/webhook`
  const system = await prepareSystem({ ...stack, sources: [] })
  await fillBacklog(system, { url, secret: SECRET })

  const bare = script('bare-post.ts', url, String(CONCURRENCY), SECRET)
  const sluice = await startDeliverer(system)
  const pids = { bare: bare.pid ?? 0, sluice: sluice.pid }
  await Promise.all(Object.values(pids).map((pid) => pin(pid, MEASURED_CORE)))
  process.kill(pids.bare, 'SIGSTOP')
  await sleep(MEASURE_MS) // what the compilers take is not counted
  process.kill(pids.sluice, 'SIGSTOP')
  const rounds: { bare: Figures; sluice: Figures }[] = []
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({
      bare: await measure('bare', pids.bare, sink),
      sluice: await measure('sluice', pids.sluice, sink),
    })
  process.kill(pids.sluice, 'SIGCONT')
  await sluice.stop(15_000)
  for (const child of [bare, sink]) child.kill('SIGKILL')
  return report(rounds)
}

function script(name: string, ...args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`./${name}`, import.meta.url)), args)
}

/** Lets one of the two stopped processes run for a while. */
async function measure(name: string, pid: number, sink: ChildProcess): Promise<Figures> {
  process.kill(pid, 'SIGCONT')
  await sleep(300)
  await count(sink)
  const [cpu, start] = [await cpuSeconds(pid), performance.now()]
  await sleep(MEASURE_MS)
  const requests = await count(sink)
  const [seconds, used] = [(performance.now() - start) / 1_000, (await cpuSeconds(pid)) - cpu]
  process.kill(pid, 'SIGSTOP')
  const figures = { perSecond: requests / seconds, perCpuSecond: requests / used }
  process.stderr.write(
    `${name}: ${Math.round(figures.perSecond)}/s, ${(1e6 / figures.perCpuSecond).toFixed(1)} us, core ${((used / seconds) * 100).toFixed(0)} %\n`,
  )
  return figures
}

async function count(sink: ChildProcess): Promise<number> {
  sink.send('report')
  const [requests] = (await once(sink, 'message')) as [number]
  return requests
}

async function startDeliverer({ env }: System) {
  const port = await freePort()
  const args = [
    ...(process.env.BENCH_NODE_FLAGS?.split(' ') ?? []),
    fileURLToPath(new URL('../deliverer/main.ts', import.meta.url)),
  ]
  const settings = {
    PATH: process.env.PATH,
    ...env,
    DELIVERER_PORT: String(port),
    EGRESS_ALLOW: '127.0.0.0/8',
    DELIVERY_SLOTS: String(CONCURRENCY),
  }
  const tied = spawnTied(process.execPath, { args, env: settings })
  await until(async () => (await got(`http://127.0.0.1:${port}/readyz`, { retry: { limit: 0 } })).ok, {
    timeout: 30_000,
  })
  return tied
}

function report(rounds: { bare: Figures; sluice: Figures }[]): string {
  const row = (name: string, figures: Figures[], ...rest: string[]) => [
    name,
    spreadOfCounts(figures.map(({ perSecond }) => perSecond)),
    spreadOfCounts(figures.map(({ perCpuSecond }) => perCpuSecond)),
    (1e6 / median(figures.map(({ perCpuSecond }) => perCpuSecond))).toFixed(1),
    ...rest,
  ]
  const ratios = rounds.map(({ bare, sluice }) => sluice.perCpuSecond / bare.perCpuSecond)
  return `Signed POSTs of 1 KB answered 200 at once, ${CONCURRENCY} under way; bare is a loop over the same HTTP client (undici) with the HMAC and nothing
else. Deliverer: the real process working off a backlog in Kafka, with its attempt log, on a core of its own; Kafka and the receiver
share the other. Median of ${ROUNDS} alternating rounds, with the lowest and the highest.

${markdownTable(
  ['', 'POSTs/s', 'POSTs per CPU-second', 'us of CPU per POST', 'ratio per core', 'goal'],
  [
    row(
      'bare',
      rounds.map(({ bare }) => bare),
      '',
      '',
    ),
    row(
      '**deliverer**',
      rounds.map(({ sluice }) => sluice),
      `**${spread(ratios)}**`,
      '>= 0.70',
    ),
  ],
)}`
}
