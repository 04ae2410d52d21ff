import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { until } from '../../helpers/until.ts'

export type VisitOptions = {
  colorScheme?: 'light' | 'dark'
  reports?: RegExp
}

export type Visit = { page: Page; context: BrowserContext }

/** `wrong`: errors of the page, policy violations, and requests to other hosts. */
export type Visitor = Visit & { wrong: string[] }

const VIEWPORT = { width: 1280, height: 900 }

/** @param origins allowed ones, the console first @param session the cookie */
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
  // as long as `until`
  context.setDefaultTimeout(60_000)
  if (session !== undefined)
    await context.addCookies([
      { name: 'sluice_session', value: session, url: origin, httpOnly: true, sameSite: 'Strict' },
    ])
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('pageerror', ({ message }) => wrong.push(message))
  page.on('console', (message) => {
    // the browser also reports error answers, which tests provoke
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) wrong.push(message.text())
  })
  page.on('request', (request) => {
    if (!origins.includes(new URL(request.url()).origin)) wrong.push(`asked ${request.url()}`)
  })
  // unsaved input of the previous test
  page.on('dialog', (dialog) => dialog.accept())
  return { page, context, wrong }
}

/** For one test, which fails if anything is wrong. `isLast` closes the visitor. */
export async function visit(
  { page, context, wrong }: Visitor,
  { colorScheme = 'light', reports = /^$/, isLast }: VisitOptions & { isLast: boolean },
): Promise<Visit> {
  wrong.length = 0
  await page.emulateMedia({ colorScheme })
  await page.setViewportSize(VIEWPORT)
  onTestFinished(async () => {
    // a request may still be waiting for a handler
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    if (isLast) await context.close()
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

/** Like a link: does not load the page again. */
export async function move(page: Page, path: string): Promise<void> {
  // the previous view is gone in the next frame
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}), new Promise(requestAnimationFrame)`,
  )
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByLabel('Loading').first().waitFor({ state: 'detached' })
}

/** Like `until`. On a busy machine, a search takes several steps; once one finds something, the next needs a click. */
export function untilFound(page: Page, isFound: () => Promise<boolean>): Promise<boolean> {
  const older = page.getByRole('button', { name: /^Search older / })
  return until(async () => {
    if (await isFound()) return true
    // the button may disappear at this moment, when the search is complete
    if (await older.isVisible()) await older.click({ timeout: 1_000 }).catch(() => undefined)
    return false
  })
}

export async function settle(page: Page): Promise<void> {
  await page.evaluate(`new Promise(requestAnimationFrame).then(() => Promise.allSettled(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished)))`)
}

/** For people: writes to test/console/screenshots if SCREENSHOTS is set. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return
  const path = fileURLToPath(new URL(`../screenshots/${name}.png`, import.meta.url))
  await page.screenshot({ path, animations: 'disabled' })
}

/** Clicks a copy button. @returns the copied text */
export async function copy(page: Page, button: string): Promise<string> {
  // otherwise, the text could be from an earlier copy
  await page.evaluate("navigator.clipboard.writeText('')")
  await page.getByRole('button', { name: button }).click()
  return until(() => page.evaluate<string>('navigator.clipboard.readText()'))
}

/**
 * Ends the session when the page makes this request. If it ended earlier, another request could fail first, and the
 * sign-in would cover what the test clicks.
 */
export function endSessionAt(page: Page, method: string, path: string): Promise<unknown> {
  return page.route(`**/api/${path}`, async (route) => {
    if (route.request().method() === method) await page.context().clearCookies()
    await route.continue()
  })
}
