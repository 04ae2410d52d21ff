import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

export type Visiting = {
  colorScheme?: 'light' | 'dark'
  /** What the page is expected to report as an error. */
  reports?: RegExp
}

export type Visit = { page: Page; context: BrowserContext }

/** Somebody with a page. `wrong`: errors of the page, what breaks its policy, and what it asked another host. */
export type Visitor = Visit & { wrong: string[] }

const VIEWPORT = { width: 1280, height: 900 }

/** @param origins the console's first. @param session the cookie of who has signed in before. */
export async function openVisitor(
  browser: Browser,
  origins: readonly [console: string, ...others: string[]],
  session: string | undefined,
): Promise<Visitor> {
  const [origin] = origins
  const context = await browser.newContext({
    baseURL: origin,
    timezoneId: 'Europe/Berlin',
    viewport: VIEWPORT,
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
  })
  // as long as `until`: it is only how late one is told
  context.setDefaultTimeout(30_000)
  if (session !== undefined)
    await context.addCookies([
      { name: 'sluice_session', value: session, url: origin, httpOnly: true, sameSite: 'Strict' },
    ])
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('pageerror', ({ message }) => wrong.push(message))
  page.on('console', (message) => {
    // whoever is not signed in, and what a test has refused: the browser reports answers, too
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) wrong.push(message.text())
  })
  page.on('request', (request) => {
    if (!origins.includes(new URL(request.url()).origin)) wrong.push(`asked ${request.url()}`)
  })
  // what the test before has typed and not saved
  page.on('dialog', (dialog) => dialog.accept())
  return { page, context, wrong }
}

/** A visit until the test is over, which fails where anything is wrong. @param visiting.isLast the visitor leaves with it. */
export async function visit(
  { page, context, wrong }: Visitor,
  { colorScheme = 'light', reports = /^$/, isLast }: Visiting & { isLast: boolean },
): Promise<Visit> {
  wrong.length = 0
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(VIEWPORT)
  onTestFinished(async () => {
    if (isLast) await context.close()
    else await page.unrouteAll()
    expect(wrong.filter((text) => !reports.test(text))).toEqual([])
  })
  return { page, context }
}

export async function signIn(page: Page, token: string, path = '/'): Promise<void> {
  await page.goto(path)
  await page.getByRole('textbox', { name: 'Control token' }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page
    .getByRole('navigation', { name: 'Main' })
    .or(page.getByRole('button', { name: 'Open the menu' }))
    .first()
    .waitFor()
}

/** To another view as a link leads there: without loading the page anew. */
export async function move(page: Page, path: string): Promise<void> {
  // the view before is gone with the next frame
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}), new Promise(requestAnimationFrame)`,
  )
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' })
}

/** What moves or changes its colour has done so; what turns without end is not waited for. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(`new Promise(requestAnimationFrame).then(() => Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished)))`)
}

/** To be looked at by people, where SCREENSHOTS is set: test/console/screenshots, which git ignores. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return
  const path = fileURLToPath(new URL(`../screenshots/${name}.png`, import.meta.url))
  await page.screenshot({ path, animations: 'disabled' })
}

/** What is in the clipboard: read in the page, whose globals are not these. */
export const copied = (page: Page): Promise<string> => page.evaluate('navigator.clipboard.readText()')
