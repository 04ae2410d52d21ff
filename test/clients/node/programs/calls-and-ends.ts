// makes `count` calls, and flushes only if asked to
import { Analytics } from '../../../../clients/node/index.ts'

const [endpoint = '', count = '', flush = ''] = process.argv.slice(2)
const analytics = new Analytics({ writeKey: 'k', endpoint, flushAfter: 600_000, maxRetries: 1 })
for (let number = 0; number < Number(count); number++)
  analytics.track({ userId: 'u1', event: 'Counted', properties: { number } })
if (flush) await analytics.flush()
