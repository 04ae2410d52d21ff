import { parseArgs } from 'node:util'
import { killAllTied } from '../local/tied.ts'
import { writeSection } from './figures/results.ts'

/** What the command line may make shorter, or longer. */
type Sizes = { rounds?: number; minutes?: number; count?: number }
type Bench = { load: () => Promise<{ bench(sizes?: Sizes): Promise<string> }>; onlyByName?: true }

const benches: Readonly<Record<string, Bench>> = {
  clients: { load: () => import('./clients/bench.ts') },
  'control-audiences': { load: () => import('./control/audiences.ts') },
  'control-deletions': { load: () => import('./control/deletions.ts') },
  'control-replay': { load: () => import('./control/replay.ts') },
  deliver: { load: () => import('./deliver/bench.ts') },
  'deliver-memory': { load: () => import('./deliver/memory.ts'), onlyByName: true },
  drain: { load: () => import('./drain/bench.ts'), onlyByName: true },
  'end-to-end': { load: () => import('./end-to-end/bench.ts'), onlyByName: true },
  'fan-out': { load: () => import('./fan-out/bench.ts') },
  ingest: { load: () => import('./ingest/bench.ts') },
  'ingest-memory': { load: () => import('./ingest/memory.ts'), onlyByName: true },
  isolation: { load: () => import('./isolation/bench.ts'), onlyByName: true },
  outpost: { load: () => import('./outpost.ts') },
  route: { load: () => import('./route/bench.ts') },
  rungs: { load: () => import('./rungs/bench.ts') },
  scale: { load: () => import('./scale/bench.ts') },
  start: { load: () => import('./start.ts') },
  traces: { load: () => import('./traces.ts'), onlyByName: true },
}

const USAGE = `npm run bench            all of them, but those that take long
npm run bench -- --all   all of them, some two hours
npm run bench -- NAME... these: ${Object.keys(benches).join(', ')}

Each writes its section of bench/RESULTS.md. isolation takes 20 minutes, deliver-memory 21, drain 24, end-to-end 16, ingest-memory 12 and
traces 6: they run only when they are named. With --rounds N (clients, control-audiences, control-deletions, deliver, end-to-end, fan-out,
ingest, isolation, route, start, traces), --count N (control-audiences: members, control-deletions: users, control-replay: dead letters,
drain: the backlog of a restart) or --minutes N (drain: the outage, end-to-end: the search, and the others) it is a trial of another size:
the section is printed, and not written.
`

function readArguments(): { names: string[]; isAll: boolean; sizes: Sizes } {
  const options = {
    rounds: { type: 'string' },
    minutes: { type: 'string' },
    count: { type: 'string' },
    all: { type: 'boolean' },
  } as const
  const { values, positionals: names } = parseArgs({ options, allowPositionals: true })
  const { all: isAll = false, ...given } = values
  const sizes = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Number(value)]))
  const unknown = names.filter((name) => !Object.hasOwn(benches, name))
  if (unknown.length > 0) throw new Error(`no such bench: ${unknown.join(', ')}`)
  if (Object.values(sizes).some((size) => !(size > 0))) throw new Error('sizes are numbers above 0')
  return { names, isAll, sizes }
}

function argumentsOrExit(): ReturnType<typeof readArguments> {
  try {
    return readArguments()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`)
    process.exit(2)
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void killAllTied().then(() => process.exit(130)))

const { names, isAll, sizes } = argumentsOrExit()
const isTrial = Object.keys(sizes).length > 0
for (const [name, { load, onlyByName }] of Object.entries(benches)) {
  if (names.length > 0 ? !names.includes(name) : onlyByName && !isAll) continue
  const { bench } = await load()
  const text = await bench(sizes)
  if (!isTrial) await writeSection(name, text)
  process.stdout.write(`## ${name}\n\n${text}\n`)
}
