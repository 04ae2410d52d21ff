import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe } from 'vitest'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { type System, startSystem } from '../../helpers/system.ts'
import { chromiumPath, openChromium } from './chromium.ts'
import { openVisitor, type Visit, type VisitOptions, type Visitor, visit } from './visit.ts'

export const ADMIN = 'test-admin-token-0123456789'
const VIEW = 'test-view-token-0123456789'

type VisitorOptions = VisitOptions & {
  /** By default the admin. */
  as?: 'nobody' | 'admin' | 'view'
  /** With an empty cache, for one test. */
  isNew?: boolean
}

export type Stage = {
  sluice: System
  browser: Browser
  good: Receiver
  bad: Receiver
  come(options?: VisitorOptions): Promise<Visit>
  close(): Promise<void>
}

/** Tests of the console, in this order on one stage. Without Chromium they are skipped. */
export function onStage(blocks: Record<string, (on: () => Stage) => void>): void {
  describe.skipIf(!chromiumPath)('the console in a browser', () => {
    let stage: Stage
    beforeAll(async () => {
      stage = await openStage()
    })
    afterAll(() => stage?.close())
    for (const [name, block] of Object.entries(blocks)) describe(name, () => block(() => stage))
  })
}

async function openStage(): Promise<Stage> {
  const [good, bad, browser, sluice] = await Promise.all([
    startReceiver(),
    startReceiver(),
    openChromium(),
    // the third attempt comes after all tests, even on a slow machine
    startSystem({ CONTROL_VIEW_TOKEN: VIEW, RETRY_LADDER: '200ms,10m', RETRY_WINDOW: '3h' }),
  ])
  const [admin, view] = await Promise.all([sessionOf(sluice, ADMIN), sessionOf(sluice, VIEW)])
  const sessions = { nobody: undefined, admin, view }
  const origins = [sluice.control, sluice.ingest] as const
  const open = (session: string | undefined) => openVisitor(browser, origins, session)
  /** Reused with a warm cache and an open page: a new page costs more than most tests. */
  const known = new Map<string, Promise<Visitor>>()

  function visitorOf(session: string): Promise<Visitor> {
    const found = known.get(session) ?? open(session)
    known.set(session, found)
    return found
  }

  return {
    ...{ sluice, browser, good, bad },
    async come({ as = 'admin', isNew = false, ...options } = {}) {
      const session = sessions[as]
      const isLast = isNew || session === undefined
      return visit(await (isLast ? open(session) : visitorOf(session)), { ...options, isLast })
    },
    async close() {
      await Promise.all([browser.close(), sluice.close(), good.close(), bad.close()])
    },
  }
}

/** Without the page: most tests start signed in. */
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
