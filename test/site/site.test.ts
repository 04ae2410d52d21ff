import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { filesIn } from '../../site/finish.ts'
import { violationsIn } from '../console/browser/axe.ts'
import { chromiumPath, launchChromium } from '../console/browser/chromium.ts'
import { api } from '../control/api.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'sluice-site-'))
const pageAt = (name: string) => readFile(join(folder, name), 'utf8')

// VitePress changes its process's environment
beforeAll(() => promisify(execFile)(process.execPath, ['site/main.ts', '--folder', folder]), 300_000)
afterAll(() => rm(folder, { recursive: true }))

test('the command prints its usage if an option is wrong', async () => {
  for (const [args, reason] of [
    [['--nonesuch'], "Unknown option '--nonesuch'"],
    [['--base', 'docs'], '--base must begin and end with a slash, such as /docs/: docs'],
  ] as const)
    await expect(promisify(execFile)(process.execPath, ['site/main.ts', ...args])).rejects.toMatchObject({
      code: 2,
      stderr: `${reason}\nusage: npm run site [-- --base /PATH/ --folder FOLDER]\n`,
    })
})

test('a build without broken links has all pages', () => {
  expect(filesIn(folder).filter((name) => name.endsWith('.html')).length).toBeGreaterThan(100)
})

test('pages have no inline scripts and styles, and load nothing from other hosts', async () => {
  const files = filesIn(folder)
  const pages = files.filter((name) => name.endsWith('.html'))
  for (const name of pages) {
    const html = await pageAt(name)
    expect(html, name).not.toMatch(/<script(?![^>]* src=)|<style|<[a-z][^>]* style="|<[a-z][^>]* on[a-z]+="/)
    const loaded = [...html.matchAll(/<(?:script|link|img)[^>]* (?:src|href)="([^"]*)"/g)].map(
      ([, url = '']) => url,
    )
    expect(
      loaded.filter((url) => !url.startsWith('/docs/assets/') && url !== 'data:,'),
      name,
    ).toEqual([])
  }
  expect(files.filter((name) => /\.(woff2?|ttf)$/.test(name))).toEqual([])
})

test('the sidebar leads to documents in every part of the repository', async () => {
  const index = await pageAt('index.html')
  for (const link of ['get-started', 'guides/rules', 'ops/runbook', 'project/architecture', 'bench/results'])
    expect(index).toContain(`href="/docs/${link}.html"`)
})

test('the references describe every operation, shape and exported name', async () => {
  expect(await pageAt('reference/control/index.html')).toContain('POST /api/destinations/preview')
  expect(await pageAt('reference/control/shapes.html')).toContain('id="destination"')
  expect(await pageAt('reference/ingest-api/calls.html')).toContain('POST /v1/batch')
  expect(await pageAt('reference/node.html')).toContain('id="analytics"')
  expect(await pageAt('reference/go.html')).toContain('id="type-client"')
  expect(JSON.parse(await pageAt('openapi/control.json'))).toMatchObject({ openapi: '3.1.0' })
})

describe.skipIf(!chromiumPath)('in a browser, served by control', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(() => browser?.close())

  /** `reported`: errors, and requests to other hosts. */
  async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}) {
    const { app } = api({}, { builtDocs: folder })
    const origin = await app.listen({ host: '127.0.0.1', port: 0 })
    const page = await browser.newPage(options)
    onTestFinished(() => page.close())
    // on a busy machine, the interactive description took a minute to appear
    page.setDefaultTimeout(120_000)
    const reported: string[] = []
    page.on('console', (message) => void (message.type() === 'error' && reported.push(message.text())))
    page.on('pageerror', (error) => void reported.push(String(error)))
    page.on('request', (request) => void (request.url().startsWith(origin) || reported.push(request.url())))
    await page.goto(origin + path)
    return { page, origin, reported }
  }

  /** Waits for the page's script: until it runs, clicks do nothing. */
  async function openRunning(...asked: Parameters<typeof open>) {
    const opened = await open(...asked)
    await until(() => opened.page.evaluate<boolean>("'__vue_app__' in document.querySelector('#app')"))
    return opened
  }

  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText()

  test('a reader searches for a word and gets to its page', async () => {
    const { page, reported } = await openRunning('/docs/')
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill('suppression')
    await page.getByRole('option').first().waitFor()
    const violations = await violationsIn(page)
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/docs\/.+\.html/)
    await expect.poll(() => page.getByRole('main').innerText()).toMatch(/suppress/i)
    expect([violations, reported]).toEqual([[], []])
  })

  test.each([
    ['light', '/docs/guides/rules.html', 'Rules'],
    ['dark', '/docs/reference/control/destinations.html', 'Control API: destinations'],
  ] as const)('%s: %s is shown without errors, and accessible', async (colorScheme, path, title) => {
    const { page, reported } = await open(path, { colorScheme })
    expect(await heading(page)).toContain(title)
    expect(await page.evaluate('document.documentElement.classList.contains("dark")')).toBe(
      colorScheme === 'dark',
    )
    expect([await violationsIn(page), reported]).toEqual([[], []])
  })

  test('on a phone, the menu leads to every page, and no page is wider than the screen', async () => {
    const { page, reported } = await openRunning('/docs/guides/rules.html', {
      viewport: { width: 390, height: 800 },
    })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await page.locator('.VPLocalNav').getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Receivers' }).first().click()
    await expect.poll(() => heading(page)).toContain('Receivers')
    expect([await violationsIn(page), reported]).toEqual([[], []])
  })

  test('a bookmark of the interactive description, which was at /docs, still leads there', async () => {
    const { page, origin } = await open('/docs#/destinations/get_destinations')
    await page.waitForURL(`${origin}/docs/api/#/destinations/get_destinations`)
    await page.getByText('Sluice control').first().waitFor()
  })

  test('an unknown path has a page that says so', async () => {
    const { page } = await open('/docs/nothing.html')
    expect(await page.getByRole('main').or(page.locator('.NotFound')).first().innerText()).toMatch(
      /not found/i,
    )
  })
})
