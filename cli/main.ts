import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { CliError, outputTo, utf8Of } from './context.ts'
import { run } from './run.ts'

const out = outputTo(process.stdout)
const err = outputTo(process.stderr)

// only the stack: errors of HTTP clients hold the request with its token, which Node would print
process.on('uncaughtException', (error) => {
  if (error instanceof CliError) err.line(error.message)
  else err.line(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exit(1)
})

// process.exit would cut off pending writes to a pipe
process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out,
  err,
  readInput: async () => utf8Of(await buffer(process.stdin), 'Standard input'),
  now: Date.now,
  newId: randomUUID,
})
