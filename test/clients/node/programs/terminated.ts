// two clients with a call each, and something to do until SIGTERM comes. With `on` or `once` it has also a listener that ends with
// code 7, with `signal-exit` one that does as that package's
import { Analytics } from '../../../../clients/node/index.ts'

const [endpoint = '', other = ''] = process.argv.slice(2)

async function end(): Promise<void> {
  process.stdout.write('own\n')
  await Promise.all(clients.map((client) => client.close()))
  // if the signal were raised again, that would be seen by then
  setTimeout(() => process.exit(7), 100)
}

function endUnlessOthersDo(): void {
  if (process.listenerCount('SIGTERM') > 1) return
  process.stdout.write('alone\n')
  process.off('SIGTERM', endUnlessOthersDo)
  process.kill(process.pid, 'SIGTERM')
}

if (other === 'on' || other === 'once') process[other]('SIGTERM', end)
if (other === 'signal-exit') {
  process.on('SIGTERM', endUnlessOthersDo)
  Object.defineProperty(globalThis, Symbol.for('signal-exit emitter'), { value: { count: 1 } })
}

const clients = ['one', 'two'].map(
  (writeKey) => new Analytics({ writeKey, endpoint, flushAfter: 600_000, closeOnSigterm: true }),
)
for (const client of clients) client.track({ userId: 'u1', event: 'Counted' })
setInterval(() => {}, 60_000)
process.stdout.write('ready\n')
