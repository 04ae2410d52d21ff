import type { Browser } from 'playwright-core'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { type System, startSystem } from '../../helpers/system.ts'
import { openChromium } from './chromium.ts'
import { type Visit, type Visiting, visit } from './visit.ts'

export const ADMIN = 'test-admin-token-0123456789'
export const VIEW = 'test-view-token-0123456789'

/** A running Sluice, a browser, and two receivers: as their endpoints are two, one in trouble is no trouble of the other. */
export type Stage = {
  sluice: System
  browser: Browser
  good: Receiver
  bad: Receiver
  come(visiting?: Visiting): Promise<Visit>
  close(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const [good, bad, browser, sluice] = await Promise.all([
    startReceiver(),
    startReceiver(),
    openChromium(),
    startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '200ms,60s' }),
  ])
  return {
    ...{ sluice, browser, good, bad },
    come: (visiting) => visit(browser, [sluice.control, sluice.ingest], visiting),
    async close() {
      await Promise.all([browser.close(), sluice.close(), good.close(), bad.close()])
    },
  }
}
