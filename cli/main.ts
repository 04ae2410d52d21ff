import { randomUUID } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { run } from './run.ts'
import { outputTo } from './world.ts'

const out = outputTo(process.stdout)
const err = outputTo(process.stderr)

// not process.exit: what is written to a pipe would be cut off
process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out,
  err,
  readInput: () => text(process.stdin),
  now: Date.now,
  newId: randomUUID,
})
