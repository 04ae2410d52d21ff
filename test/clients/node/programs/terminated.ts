// Two clients with a call each, and a timer that keeps the process alive until SIGTERM. `on` and `once` add a listener
// that exits with code 7, `signal-exit` adds that package's, `readme` only that of the README. With `throws`, onFailure
// throws. The second client may use another copy of the library.
import { Analytics } from '../../../../clients/node/index.ts'

const [endpoint = '', other = '', copy] = process.argv.slice(2)
const second: typeof Analytics = copy ? (await import(copy)).Analytics : Analytics

async function end(): Promise<void> {
  process.stdout.write('own\n')
  await Promise.all(clients.map((client) => client.close()))
  // a signal raised again would be seen by then
  setTimeout(() => process.exit(7), 100)
}

function endUnlessOthersDo(): void {
  if (process.listenerCount('SIGTERM') > 1) return
  process.stdout.write('alone\n')
  process.off('SIGTERM', endUnlessOthersDo)
  process.kill(process.pid, 'SIGTERM')
}

async function endAsInReadme(): Promise<void> {
  await Promise.all(clients.map((client) => client.close().catch(() => {})))
  process.exit()
}

function thrower(): never {
  throw new Error('broken callback')
}

if (other === 'readme') process.once('SIGTERM', endAsInReadme)
if (other === 'on' || other === 'once') process[other]('SIGTERM', end)
if (other === 'signal-exit') {
  process.on('SIGTERM', endUnlessOthersDo)
  Object.defineProperty(globalThis, Symbol.for('signal-exit emitter'), { value: { count: 1 } })
}

const options = {
  endpoint,
  flushAfter: 600_000,
  closeOnSigterm: other !== 'readme',
  onFailure: other === 'throws' ? thrower : undefined,
}
const clients = [new Analytics({ writeKey: 'one', ...options }), new second({ writeKey: 'two', ...options })]
for (const client of clients) client.track({ userId: 'u1', event: 'Counted' })
setInterval(() => {}, 60_000)
process.stdout.write('ready\n')
