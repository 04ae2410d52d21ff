import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import { aReceiver, type System, startSystem } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'

export const VIEW = 'test-view-token-0123456789'

/** Each test has its own sources and destinations. */
export let sluice: System
beforeAll(async () => {
  // settings can change while a delivery waits on the last rung
  sluice = await startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '100ms,200ms,2s' })
})
afterAll(() => sluice?.close())

/**
 * Resolves when the deliverer has read all settings up to now. Its settings of an enabled destination may be a second
 * old. If it does not know a destination, it reads all settings.
 */
export async function delivererFollows(): Promise<void> {
  const receiver = await aReceiver()
  const id = `follows-${randomUUID()}`
  await sluice.api('post', 'sources', { id, name: id, writeKey: `${id}-write-key` })
  await sluice.destination(id, [receiver.url], { sourceIds: [id] })
  await sluice.send([{ type: 'track', userId: 'u1', event: 'Followed' }], `${id}-write-key`)
  await until(() => receiver.arrivals.length > 0)
  for (const path of [`destinations/${id}`, `sources/${id}`]) await sluice.api('delete', path)
}
