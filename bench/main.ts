import { readOrExit } from '../harness/command-line.ts'
import { writeSection } from '../harness/results.ts'
import { exitWhenInterrupted } from '../harness/scratch.ts'
import { readArguments, USAGE } from './arguments.ts'
import { benches } from './benches.ts'

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
