import { writeSection } from './results.ts'

type Bench = { load: () => Promise<{ bench(): Promise<string> }>; onlyByName?: true }

const benches: Readonly<Record<string, Bench>> = {
  deliver: { load: () => import('./deliver.ts') },
  ingest: { load: () => import('./ingest.ts') },
  'ingest-memory': { load: () => import('./ingest-memory.ts'), onlyByName: true },
}

const USAGE = `npm run bench            all of them, but those that take long
npm run bench -- NAME... these: ${Object.keys(benches).join(', ')}

Each writes its section of bench/RESULTS.md. ingest-memory takes 12 minutes and runs only when it is named.
`

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(benches, name))
if (unknown.length > 0) {
  process.stderr.write(`no such bench: ${unknown.join(', ')}\n\n${USAGE}`)
  process.exit(2)
}
for (const [name, { load, onlyByName }] of Object.entries(benches)) {
  if (asked.length > 0 ? !asked.includes(name) : onlyByName) continue
  const { bench } = await load()
  const text = await bench()
  await writeSection(name, text)
  process.stdout.write(`## ${name}\n\n${text}\n`)
}
