import type { Browser } from 'playwright-core'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { type System, startSystem } from '../../helpers/system.ts'
import { openChromium } from './chromium.ts'
import { type Visit, visit } from './visit.ts'

export const ADMIN = 'test-admin-token-0123456789'
export const VIEW = 'test-view-token-0123456789'

/** A running Sluice, a browser, and two receivers: as their endpoints are two, one in trouble is no trouble of the other. */
export type Stage = {
  sluice: System
  browser: Browser
  good: Receiver
  bad: Receiver
  /** @param as who has signed in; unless told, the admin. */
  come(visiting?: { as?: 'nobody' | 'admin' | 'view'; colorScheme?: 'light' | 'dark' }): Promise<Visit>
  close(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const [good, bad, browser, sluice] = await Promise.all([
    startReceiver(),
    startReceiver(),
    openChromium(),
    startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '200ms,60s' }),
  ])
  const [admin, view] = [await sessionOf(sluice, ADMIN), await sessionOf(sluice, VIEW)]
  const sessions = { nobody: undefined, admin, view }
  return {
    ...{ sluice, browser, good, bad },
    come: ({ as = 'admin', ...visiting } = {}) =>
      visit(browser, [sluice.control, sluice.ingest], { ...visiting, session: sessions[as] }),
    async close() {
      await Promise.all([browser.close(), sluice.close(), good.close(), bad.close()])
    },
  }
}

/** As a browser gets it, without the page: most visits are of who has signed in before. */
async function sessionOf({ control }: System, token: string): Promise<string> {
  const response = await fetch(`${control}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const [, session] = /^sluice_session=([^;]+)/.exec(response.headers.get('set-cookie') ?? '') ?? []
  if (session === undefined) throw new Error(`no session: ${response.status}`)
  return decodeURIComponent(session)
}
