import { writeSection } from './results.ts'

/** `npm run bench` runs all, `npm run bench -- ingest` one; each writes its section of RESULTS.md. */
const benches: Readonly<Record<string, () => Promise<{ bench(): Promise<string> }>>> = {
  deliver: () => import('./deliver.ts'),
  ingest: () => import('./ingest.ts'),
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !Object.hasOwn(benches, name))
if (unknown.length > 0) {
  process.stderr.write(`no such bench: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}\n`)
  process.exit(2)
}
for (const [name, load] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const { bench } = await load()
  const text = await bench()
  await writeSection(name, text)
  process.stdout.write(`## ${name}\n\n${text}\n`)
}
