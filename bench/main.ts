import { readArguments, USAGE } from './arguments.ts'
import { benches } from './benches.ts'
import { readOrExit } from './command-line.ts'
import { writeSection } from './figures/results.ts'
import { exitWhenInterrupted } from './scratch.ts'

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
