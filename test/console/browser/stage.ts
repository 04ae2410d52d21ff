import type { Browser, BrowserContext } from 'playwright-core'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { type System, startSystem } from '../../helpers/system.ts'
import { openChromium } from './chromium.ts'
import { openContext, type Person, type Visit, type Visiting, visit } from './visit.ts'

export const ADMIN = 'test-admin-token-0123456789'
export const VIEW = 'test-view-token-0123456789'

type Coming = Visiting & {
  /** Who has signed in; unless told, the admin. */
  as?: 'nobody' | 'admin' | 'view'
  /** Never been here before: nothing is in the browser's cache, and nobody else has its session. */
  isNew?: boolean
}

/** A running Sluice, a browser, and two receivers: as their endpoints are two, one in trouble is no trouble of the other. */
export type Stage = {
  sluice: System
  browser: Browser
  good: Receiver
  bad: Receiver
  come(coming?: Coming): Promise<Visit>
  close(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const [good, bad, browser, sluice] = await Promise.all([
    startReceiver(),
    startReceiver(),
    openChromium(),
    startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '200ms,60s' }),
  ])
  const [admin, view] = await Promise.all([sessionOf(sluice, ADMIN), sessionOf(sluice, VIEW)])
  const sessions = { nobody: undefined, admin, view }
  const origins = [sluice.control, sluice.ingest]
  /** Of who comes again most is in the cache, as of anybody who does. */
  const known = new Map<string, Promise<BrowserContext>>()

  function contextOf(person: Person): Promise<BrowserContext> {
    const key = JSON.stringify(person)
    const found = known.get(key) ?? openContext(browser, sluice.control, person)
    known.set(key, found)
    return found
  }

  return {
    ...{ sluice, browser, good, bad },
    async come({ as = 'admin', isNew = as === 'nobody', colorScheme = 'light', ...visiting } = {}) {
      const person = { colorScheme, session: sessions[as] }
      const context = await (isNew ? openContext(browser, sluice.control, person) : contextOf(person))
      return visit(context, origins, { ...visiting, isLast: isNew })
    },
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
