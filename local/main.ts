import { ConfigError } from '../process/config-error.ts'
import { createLog } from '../process/log.ts'
import { demo } from './demo.ts'
import { asDiskFull, LocalError } from './errors.ts'
import { type ExitReason, watchShutdown } from './processes/shutdown.ts'
import { type LocalSettings, readSettings } from './settings.ts'
import { start } from './start.ts'
import { terminalOn } from './terminal.ts'

const shutdown = watchShutdown(process.env)
const settings = settingsOrExit()
const log = createLog({ role: 'start', level: settings.env.LOG_LEVEL || 'info' })
const terminal = terminalOn(process.stdout)
const closing = new AsyncDisposableStack()

start({ settings, closing, log, terminal, shutdown })
  .then((addresses) => (settings.demo ? demo(addresses, terminal) : undefined))
  .catch((error) => shutdown.request(exitReason(asDiskFull(error, settings.dataFolder))))

const { code, message } = await shutdown.requested
if (message) process.stderr.write(`${message}\n`)
await closing.disposeAsync().catch((err) => log.error({ err }, 'shutdown was not clean'))
log.flush()
if (code === 0) terminal.line(`stopped; the data stays in ${settings.dataFolder}`)
process.exit(code)

function exitReason(error: unknown): ExitReason {
  if (error instanceof LocalError || error instanceof ConfigError)
    return { code: 2, message: `\n${error.message}` }
  return { code: 1, message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** Nothing has started yet. */
function settingsOrExit(): LocalSettings {
  try {
    return readSettings(process.env, process.argv.slice(2))
  } catch (error) {
    const { code, message } = exitReason(error)
    process.stderr.write(`${message}\n`)
    process.exit(code)
  }
}
