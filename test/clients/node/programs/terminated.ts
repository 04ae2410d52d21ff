// two clients with a call each, and something to do until SIGTERM comes; with `own` also a listener that ends with code 7
import { Analytics } from '../../../../clients/node/index.ts'

const [endpoint = '', own = ''] = process.argv.slice(2)
if (own) {
  process.once('SIGTERM', () => {
    setTimeout(() => process.exit(7), 300)
  })
}
for (const writeKey of ['one', 'two']) {
  const analytics = new Analytics({ writeKey, endpoint, flushAfter: 600_000, closeOnSigterm: true })
  analytics.track({ userId: 'u1', event: 'Counted' })
}
setInterval(() => {}, 60_000)
process.stdout.write('ready\n')
