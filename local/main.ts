import { createLog } from '../process/log.ts'
import { ConfigError } from '../process/pem.ts'
import { demo } from './demo.ts'
import { asDiskFull } from './disk.ts'
import { type Ending, watchEndings } from './endings.ts'
import { LocalFault } from './fault.ts'
import { sayTo } from './say.ts'
import { type LocalSettings, readSettings } from './settings.ts'
import { start } from './start.ts'

const endings = watchEndings(process.env)
const settings = settingsOrExit()
const log = createLog({ role: 'start', level: settings.env.LOG_LEVEL || 'info' })
const say = sayTo(process.stdout)
const closing = new AsyncDisposableStack()

start({ settings, closing, log, say, endings })
  .then((addresses) => (settings.demo ? demo(addresses, say) : undefined))
  .catch((error) => endings.request(failure(asDiskFull(error, settings.dataFolder))))

const { code, message } = await endings.requested
if (message) process.stderr.write(`${message}\n`)
await closing.disposeAsync().catch((err) => log.error({ err }, 'not everything could be ended in order'))
log.flush()
if (code === 0) say.line(`ended; its data stays in ${settings.dataFolder}`)
process.exit(code)

/** Exit code 2 for what whoever runs it can put right. */
function failure(error: unknown): Ending {
  if (error instanceof LocalFault || error instanceof ConfigError)
    return { code: 2, message: `\n${error.message}` }
  return { code: 1, message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** Nothing has been begun yet that would have to be ended. */
function settingsOrExit(): LocalSettings {
  try {
    return readSettings(process.env, process.argv.slice(2))
  } catch (error) {
    const { code, message } = failure(error)
    process.stderr.write(`${message}\n`)
    process.exit(code)
  }
}
