import { afterAll, beforeAll } from 'vitest'
import { type System, startSystem } from '../../helpers/system.ts'

export const VIEW = 'test-view-token-0123456789'

/** The system of all tests in this folder. Each of them has its own sources and destinations. */
export let sluice: System
beforeAll(async () => {
  // the last rung is long enough to change settings while a delivery waits on it
  sluice = await startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '100ms,200ms,2s' })
})
afterAll(() => sluice?.close())
