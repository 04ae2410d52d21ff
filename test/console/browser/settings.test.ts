import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { type System, startSystem } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'
import { chromiumPath, openChromium } from './chromium.ts'
import { move, shoot, signIn, visit } from './visit.ts'

const ADMIN = 'test-admin-token-0123456789'
const VIEW = 'test-view-token-0123456789'

const VIEWS = [
  '/',
  '/catalog',
  '/catalog/webhooks',
  '/sources',
  '/sources/shop',
  '/destinations',
  ...['health', 'settings', 'test', 'secret'].map((tab) => `/destinations/crm/${tab}`),
  '/deliveries',
  '/deliveries?userId=u1',
  '/dead',
  '/lag',
  '/audiences',
  '/traits',
  '/nothing',
]

describe.skipIf(!chromiumPath)('who keeps settings', () => {
  let sluice: System
  let receiver: Receiver
  let browser: Browser

  beforeAll(async () => {
    ;[receiver, sluice, browser] = await Promise.all([
      startReceiver(),
      startSystem({ CONTROL_VIEW_TOKEN: VIEW }),
      openChromium(),
    ])
    await sluice.destination('crm', [`${receiver.url}/crm`, `${receiver.url}/status/503`], {
      name: 'CRM',
      sharedSecret: 'first-secret',
      webhooks: [{ url: `${receiver.url}/crm`, headers: { 'X-Key': 'stored-value' } }],
    })
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid', messageId: 'paid-1' }])
    await until(() => receiver.arrivals.length > 0)
  })
  afterAll(() => Promise.all([browser?.close(), sluice?.close(), receiver?.close()]))

  const come = (options: Parameters<typeof visit>[2] = {}) =>
    visit(browser, [sluice.control, sluice.ingest], options)
  const destination = async () => (await sluice.api('get', 'destinations/crm')).body

  test('the page is there within a second', async () => {
    const { page } = await come()
    const times: number[] = []
    for (let time = 1; time <= 3; time++) {
      await page.goto('/')
      await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
      times.push(await page.evaluate<number>('performance.now()'))
    }
    expect(Math.min(...times)).toBeLessThan(1_000)
  })

  test('what somebody else has saved meanwhile is not overwritten, and said', async () => {
    const { page } = await come()
    await signIn(page, ADMIN, '/destinations/crm/settings')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine')
    const { version, ...theirs } = await destination()
    await sluice.api('put', 'destinations/crm', { ...theirs, name: 'Theirs' }, { 'if-match': `"${version}"` })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed this meanwhile').waitFor()
    await shoot(page, 'changed-meanwhile')
    await page.getByRole('button', { name: 'Show what it is now' }).click()
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await until(async () => (await name.inputValue()) === 'Theirs')
    await name.fill('CRM')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await destination()).toMatchObject({ name: 'CRM', webhooks: [{ headers: { 'X-Key': '***' } }] })
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Later', messageId: 'later-1' }])
    const later = await until(() => receiver.arrivals.find(({ body }) => body.includes('Later')))
    // what nobody typed again was kept
    expect(later.headers['x-key']).toBe('stored-value')
  })

  test('a secret is replaced, never shown, and the one before signs as well for a day', async () => {
    const { page } = await come()
    await signIn(page, ADMIN, '/destinations/crm/secret')
    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByRole('button', { name: 'Replace secret' }).click()
    await page.getByText('A rotation is under way').waitFor()
    expect(await page.getByRole('textbox', { name: 'New secret' }).inputValue()).toBe('')
    expect(await page.content()).not.toContain('first-secret')
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Rotated', messageId: 'rotated-1' }])
    const rotated = await until(() => receiver.arrivals.find(({ body }) => body.includes('Rotated')))
    expect(rotated.headers).toHaveProperty('x-signature-previous')
  })

  test('an audience is made, its members uploaded, and receivers told', async () => {
    const { page } = await come()
    await signIn(page, ADMIN, '/audiences')
    await page.getByText('No audience yet').waitFor()
    await page.getByRole('button', { name: 'New audience' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('High Value Users')
    await page.getByRole('button', { name: 'Create audience' }).click()
    await page.getByText('high_value_users').waitFor()
    await page.getByRole('button', { name: 'Upload members of High Value Users' }).click()
    await page.getByRole('textbox', { name: 'User ids' }).fill('u1\nu2')
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    await page.getByText('Compared 2 users with the last upload').waitFor()
    await until(() => receiver.arrivals.filter(({ body }) => body.includes('high_value_users')).length === 2)
  })

  test('who may look only is offered nothing else, and the server refuses it besides', async () => {
    const { page } = await come()
    await signIn(page, VIEW, '/sources/shop')
    await page.getByText('View only').waitFor()
    await page.getByText('is shown to the admin only').waitFor()
    expect(await page.content()).not.toContain('shop-write-key')
    for (const path of ['/sources', '/destinations/crm', '/catalog', '/audiences', '/dead']) {
      await move(page, path)
      expect(await page.getByRole('button', { name: /new|delete|save|replay|upload|set up/i }).count()).toBe(
        0,
      )
      expect(await page.getByRole('switch').count()).toBe(0)
    }
    const refused = await page.evaluate<number>(
      `fetch('/api/sources', { method: 'POST', headers: { 'X-Requested-With': 'x', 'Content-Type': 'application/json' }, body: '{"name": "Mine"}' }).then(({ status }) => status)`,
    )
    expect(refused).toBe(403)
    await shoot(page, 'view-only')
  })

  // with other colours the rest of the page is the same
  test.each([
    ['light', { resultTypes: ['violations'] }],
    ['dark', { resultTypes: ['violations'], runOnly: ['color-contrast'] }],
  ] as const)('axe finds nothing serious in any view, in %s', async (colorScheme, rules) => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    const { page } = await come({ colorScheme })
    const found: string[] = []
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    found.push(...(await faults(page, axe, rules)))
    await signIn(page, ADMIN)
    for (const path of VIEWS) {
      await move(page, path)
      found.push(...(await faults(page, axe, rules)))
      await shoot(page, `view${path.replaceAll(/\W+/g, '-')}-${colorScheme}`)
    }
    expect(found).toEqual([])
  })

  test('by keyboard alone: past the menu, and through a dialogue that gives the focus back', async () => {
    const { page } = await come()
    await signIn(page, ADMIN, '/sources')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    await page.getByRole('button', { name: 'New source' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New source' }).waitFor()
    await until(async () => (await page.evaluate('document.activeElement.tagName')) === 'INPUT')
    await page.keyboard.press('Escape')
    await until(async () => (await page.evaluate('document.activeElement.textContent')) === 'New source')
  })

  test('on a phone nothing is wider than the page, and the menu opens', async () => {
    const { page } = await come({ width: 375 })
    await signIn(page, ADMIN)
    for (const path of VIEWS) {
      await move(page, path)
      const beyond = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect(beyond, path).toBeLessThanOrEqual(0)
    }
    await page.getByRole('button', { name: 'Open the menu' }).click()
    await page.getByRole('link', { name: 'Destinations' }).click()
    await page.getByRole('link', { name: 'CRM' }).waitFor()
    await shoot(page, 'phone')
  })

  test('a destination is deleted after one is asked, and signing out ends the session', async () => {
    await sluice.destination('gone', [`${receiver.url}/gone`])
    const { page } = await come()
    await signIn(page, ADMIN, '/destinations/gone/settings')
    await page.getByRole('button', { name: 'Delete destination' }).click()
    await page.getByRole('button', { name: 'Delete gone' }).click()
    await page.getByRole('link', { name: 'CRM' }).waitFor()
    expect((await sluice.api('get', 'destinations/gone')).status).toBe(404)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
  })
})

type Found = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** What axe calls serious or critical: where, and what. It is put into the page past its policy, as a debugger would. */
async function faults(page: Page, axe: string, rules: object): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = await page.evaluate<Found>(`axe.run(document, ${JSON.stringify(rules)})`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary }) =>
          `${new URL(page.url()).pathname}: ${id}: ${html.slice(0, 160)} ${failureSummary ?? ''}`,
      ),
    )
}
