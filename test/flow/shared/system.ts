import { afterAll, beforeAll } from 'vitest'
import { type System, startSystem } from '../../helpers/system.ts'

export const VIEW = 'test-view-token-0123456789'

/** Each test has its own sources and destinations. */
export let sluice: System
beforeAll(async () => {
  // settings can change while a delivery waits on the last rung
  sluice = await startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '100ms,200ms,2s' })
})
afterAll(() => sluice?.close())
