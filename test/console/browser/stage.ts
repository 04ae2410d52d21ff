import type { Browser } from 'playwright-core'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { type System, startSystem } from '../../helpers/system.ts'
import { openChromium } from './chromium.ts'
import { openVisitor, type Visit, type Visiting, type Visitor, visit } from './visit.ts'

export const ADMIN = 'test-admin-token-0123456789'
export const VIEW = 'test-view-token-0123456789'

type Coming = Visiting & {
  /** Who has signed in; unless told, the admin. */
  as?: 'nobody' | 'admin' | 'view'
  /** Never been here before: nothing is in the browser's cache, nobody else has its session, and what is done to its page ends with it. */
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
    // the third attempt comes when all has been looked at, however slow the machine
    startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '200ms,10m' }),
  ])
  const [admin, view] = await Promise.all([sessionOf(sluice, ADMIN), sessionOf(sluice, VIEW)])
  const sessions = { nobody: undefined, admin, view }
  const origins = [sluice.control, sluice.ingest] as const
  const open = (session: string | undefined) => openVisitor(browser, origins, session)
  /** Who comes again: most is in the cache, and a page is open, as a new one costs more than all that is done there. */
  const known = new Map<string, Promise<Visitor>>()

  function visitorOf(session: string): Promise<Visitor> {
    const found = known.get(session) ?? open(session)
    known.set(session, found)
    return found
  }

  return {
    ...{ sluice, browser, good, bad },
    async come({ as = 'admin', isNew = false, ...visiting } = {}) {
      const session = sessions[as]
      const isLast = isNew || session === undefined
      return visit(await (isLast ? open(session) : visitorOf(session)), { ...visiting, isLast })
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
