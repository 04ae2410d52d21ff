import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { markdownTable } from '../../harness/results.ts'
import { scratchFolder } from '../../harness/scratch.ts'
import { median, spread, spreadOfCounts } from '../figures/summary.ts'
import { startSink } from '../receivers/start.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('.', import.meta.url))

/** Multiples of the peers' batch sizes, 250 and 15: a partial batch would wait for its flush interval. */
const CALLS = { go: 400_000, node: 99_000 }
const LIMIT_MS = 120_000

export async function bench({ rounds = 4 } = {}): Promise<string> {
  const program = join(await scratchFolder('bench'), 'clients')
  await run('go', ['build', '-o', program, '.'], { cwd: join(folder, 'go') })
  const libraries = {
    go: (which: string, url: string) => run(program, [which, url, String(CALLS.go)], { timeout: LIMIT_MS }),
    node: (which: string, url: string) =>
      run(process.execPath, [join(folder, 'node.ts'), which, url, String(CALLS.node)], {
        timeout: LIMIT_MS,
      }),
  }
  const measured: Measured[] = []
  for (let round = 1; round <= rounds; round++)
    for (const language of ['go', 'node'] as const)
      for (const which of ['ours', 'peer'] as const) {
        await using sink = await disposable(startSink())
        const { stdout } = await libraries[language](which, `http://127.0.0.1:${sink.port}`)
        const { requests } = await sink.since()
        const one = { language, which, requests, ...JSON.parse(stdout) }
        process.stderr.write(`${round}: ${JSON.stringify(one)}\n`)
        measured.push(one)
      }
  return `${EXPLAINED}\n\n${table(measured)}`
}

async function disposable<T extends { stop(): Promise<void> }>(
  starting: Promise<T>,
): Promise<T & AsyncDisposable> {
  const it = await starting
  return Object.assign(it, { [Symbol.asyncDispose]: () => it.stop() })
}

const EXPLAINED = `Track calls of about 400 bytes, sent as fast as the library takes them to a receiver on the same machine that answers 200
at once, until the library is closed and everything is delivered: ${CALLS.go.toLocaleString('en-US')} from eight goroutines, and ${CALLS.node.toLocaleString('en-US')} from Node,
where 100 are made per turn of the event loop. Each library uses its defaults, in its own process: ours send gzip, the
peers plain JSON. The peers are segmentio/analytics-go 3.3 and @segment/analytics-node 3.1. CPU is that of the whole
process, including background sending. "Failed" is what the library reports as not delivered. Go's bytes are counted,
Node's are sampled; both include the map or object that the caller makes per call. Rounds alternate; median, lowest and
highest.`

/** In seconds and bytes. */
type Measured = {
  language: 'go' | 'node'
  which: 'ours' | 'peer'
  requests: number
  calls: number
  failed: number
  deliveredSeconds: number
  cpuSeconds: number
  allocatedBytes: number
  /** Only for Go. */
  allocations?: number
}

const NAMES = {
  go: { ours: '**clients/go**', peer: 'analytics-go' },
  node: { ours: '**clients/node**', peer: '@segment/analytics-node' },
}

const HEAD = [
  '',
  'calls/s, delivered',
  'us of CPU per call',
  'ratio',
  'allocations per call',
  'ratio',
  'bytes allocated per call',
  'ratio',
  'calls per request',
  'failed',
]

function table(measured: readonly Measured[]): string {
  const rows = (['go', 'node'] as const).flatMap((language) =>
    (['ours', 'peer'] as const).map((which) => {
      const of = (one: Measured['which']) =>
        measured.filter((each) => each.language === language && each.which === one)
      return row(of(which), which === 'ours' ? of('peer') : undefined)
    }),
  )
  return markdownTable(HEAD, rows)
}

function row(ours: readonly Measured[], peer: readonly Measured[] | undefined): string[] {
  const [first] = ours
  if (!first) return []
  const ratio = (figure: (one: Measured) => number) =>
    peer ? `**${spread(ours.map((one, round) => figure(one) / figure(peer[round] ?? one)))}**` : ''
  const perCall = (figure: (one: Measured) => number) => ours.map((one) => figure(one) / one.calls)
  const counted = first.allocations !== undefined
  return [
    NAMES[first.language][first.which],
    spreadOfCounts(ours.map(({ calls, deliveredSeconds }) => calls / deliveredSeconds)),
    spread(
      perCall(({ cpuSeconds }) => cpuSeconds * 1_000_000),
      1,
    ),
    ratio(({ cpuSeconds }) => cpuSeconds),
    counted
      ? spread(
          perCall(({ allocations = 0 }) => allocations),
          1,
        )
      : '',
    counted ? ratio(({ allocations = 0 }) => allocations) : '',
    spreadOfCounts(perCall(({ allocatedBytes }) => allocatedBytes)),
    ratio(({ allocatedBytes }) => allocatedBytes),
    Math.round(median(ours.map(({ calls, requests }) => calls / requests))).toLocaleString('en-US'),
    String(median(ours.map(({ failed }) => failed))),
  ]
}
