import { parseArgs } from 'node:util'
import { readOrExit, sizeOf } from '../harness/command-line.ts'
import { writeSection } from '../harness/results.ts'
import { exitWhenInterrupted } from '../harness/scratch.ts'
import { benches, type Size, type Sizes } from './benches.ts'

const entries = Object.entries(benches)
const usual = entries.filter(([, { onlyByName }]) => !onlyByName)
const minutes = (some: typeof entries) => some.reduce((sum, [, bench]) => sum + bench.minutes, 0)

const WIDTH = Math.max(...Object.keys(benches).map((name) => name.length))
const lines = entries.map(
  ([name, { what, minutes, onlyByName }]) =>
    `  ${name.padEnd(WIDTH)} ${onlyByName ? '*' : ' '}${String(minutes).padStart(3)} min  ${what}`,
)
const takers = (size: Size) =>
  entries.flatMap(([name, { sizes }]) => (sizes.includes(size) ? name : [])).join(', ')

const USAGE = `npm run bench            all except those marked *, in about ${minutes(usual)} minutes
npm run bench -- --all   all, in about ${minutes(entries)} minutes
npm run bench -- NAME... only these

Each writes its section of bench/RESULTS.md:
${lines.join('\n')}

These options run a trial of another size: its section is printed, not written.
  --rounds N   rounds per measurement: ${takers('rounds')}
  --count N    members in control-audiences, users in control-deletions, dead letters in control-replay, backlog of the restart in drain
  --minutes N  duration of the run (drain: of the outage; end-to-end: of the search): ${takers('minutes')}
`

/** @throws for an unknown bench or option, an invalid size, or a size that none of the benches accepts */
function readArguments(): { names: readonly string[]; sizes: Sizes } {
  const text = { type: 'string' } as const
  const options = { rounds: text, minutes: text, count: text, all: { type: 'boolean' } } as const
  const { values, positionals: named } = parseArgs({ options, allowPositionals: true })
  const { all, ...given } = values
  const unknown = named.filter((name) => !Object.hasOwn(benches, name))
  if (unknown.length > 0) throw new Error(`no such bench: ${unknown.join(', ')}`)
  const chosen = named.length > 0 ? entries.filter(([name]) => named.includes(name)) : all ? entries : usual
  const sizes: Sizes = {}
  for (const size of ['rounds', 'minutes', 'count'] as const) {
    const value = given[size]
    if (value === undefined) continue
    sizes[size] = sizeOf(`--${size}`, value, size !== 'minutes')
    if (!chosen.some(([, bench]) => bench.sizes.includes(size)))
      throw new Error(`${named.join(', ')} takes no --${size}`)
  }
  return { names: chosen.map(([name]) => name), sizes }
}

exitWhenInterrupted()

const { names, sizes } = readOrExit(USAGE, readArguments)
const isTrial = Object.keys(sizes).length > 0
for (const [name, { load }] of Object.entries(benches)) {
  if (!names.includes(name)) continue
  const { bench } = await load()
  const text = await bench(sizes)
  if (!isTrial) await writeSection(name, text)
  process.stdout.write(`## ${name}\n\n${text}\n`)
}
