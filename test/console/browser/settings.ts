import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import type { Stage } from './stage.ts'
import { move, settle, shoot } from './visit.ts'

const VIEWS = [
  '/',
  '/catalog',
  '/catalog/webhooks',
  '/sources',
  '/sources/shop',
  '/destinations',
  ...['health', 'settings', 'test', 'secret', 'replay'].map((tab) => `/destinations/mail/${tab}`),
  '/deliveries',
  '/deliveries?userId=u1',
  '/dead',
  '/lag',
  '/audiences',
  '/traits',
  '/nothing',
]

/** The others are among the pictures of the flows. */
const SHOWN = [
  '/',
  '/destinations/mail/health',
  '/destinations/mail/settings',
  '/deliveries?userId=u1',
  '/dead',
]

/** @param on the stage, once it is open. */
export function keepSettings(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good } = on()
    await sluice.destination('mail', [], {
      name: 'Mail',
      sharedSecret: 'first-secret',
      webhooks: [{ url: `${good.url}/mail`, headers: { 'X-Key': 'stored-value' } }],
    })
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid' }])
    await until(() => mail().length > 0)
  })

  const mail = () => on().good.arrivals.filter(({ path }) => path === '/mail')
  const destination = async () => (await on().sluice.api('get', 'destinations/mail')).body

  test('the page is there within a second', async () => {
    const { page } = await on().come({ as: 'nobody' })
    const times: number[] = []
    for (let time = 1; time <= 3; time++) {
      await page.goto('/')
      await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
      times.push(await page.evaluate<number>('performance.now()'))
    }
    expect(Math.min(...times)).toBeLessThan(1_000)
  })

  test('what somebody else has saved meanwhile is not overwritten, and said', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/mail/settings')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine')
    const { version, ...theirs } = await destination()
    await on().sluice.api(
      'put',
      'destinations/mail',
      { ...theirs, name: 'Theirs' },
      { 'if-match': `"${version}"` },
    )
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Somebody else has changed this meanwhile').waitFor()
    await shoot(page, 'changed-meanwhile')
    await page.getByRole('button', { name: 'Show what it is now' }).click()
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await until(async () => (await name.inputValue()) === 'Theirs')
    await name.fill('Mail')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await destination()).toMatchObject({ name: 'Mail', webhooks: [{ headers: { 'X-Key': '***' } }] })
    await on().sluice.send([{ type: 'track', userId: 'u1', event: 'Later', messageId: 'later-1' }])
    const later = await until(() => mail().find(({ body }) => body.includes('Later')))
    // what nobody typed again was kept
    expect(later.headers['x-key']).toBe('stored-value')
  })

  test('a secret is replaced, never shown, and the one before signs as well for a day', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/mail/secret')
    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByRole('button', { name: 'Replace secret' }).click()
    await page.getByText('A rotation is under way').waitFor()
    expect(await page.getByRole('textbox', { name: 'New secret' }).inputValue()).toBe('')
    expect(await page.content()).not.toContain('first-secret')
    await on().sluice.send([{ type: 'track', userId: 'u1', event: 'Rotated', messageId: 'rotated-1' }])
    const rotated = await until(() => mail().find(({ body }) => body.includes('Rotated')))
    expect(rotated.headers).toHaveProperty('x-signature-previous')
  })

  test('an audience is made, its members uploaded, and receivers told', async () => {
    const { page } = await on().come()
    await page.goto('/audiences')
    await page.getByText('No audience yet').waitFor()
    await page.getByRole('button', { name: 'New audience' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('High Value Users')
    await page.getByRole('combobox', { name: 'Source' }).selectOption('shop')
    await page.getByRole('button', { name: 'Create audience' }).click()
    await page.getByText('high_value_users').waitFor()
    await page.getByRole('button', { name: 'Upload members of High Value Users' }).click()
    await page.getByRole('textbox', { name: 'User ids' }).fill('u1\nu2')
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    await page.getByText('Compared 2 users with the last upload').waitFor()
    await until(() => mail().filter(({ body }) => body.includes('high_value_users')).length === 2)
  })

  test('what came in is replayed to a destination that is new', async () => {
    const { sluice, good, come } = on()
    await sluice.destination('late', [`${good.url}/late`])
    const { page } = await come()
    await page.goto('/destinations/late/replay')
    await page.getByRole('button', { name: 'Replay events' }).click()
    await page.getByText('Done', { exact: true }).first().waitFor()
    const isPaid = ({ path, body }: { path: string; body: string }) =>
      path === '/late' && body.includes('Paid')
    const paid = await until(() => good.arrivals.find(isPaid))
    expect(paid.headers['x-replay']).toBe('true')
  })

  test('who may look only is offered nothing else, and the server refuses it besides', async () => {
    const { page } = await on().come({ as: 'view' })
    await page.goto('/sources/shop')
    await page.getByText('View only').waitFor()
    await page.getByText('is shown to the admin only').waitFor()
    expect(await page.content()).not.toContain('shop-write-key')
    for (const path of ['/sources', '/destinations/mail', '/catalog', '/audiences', '/dead']) {
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

  test('every view: nothing serious for axe, in light and dark, and nothing wider than a phone', async () => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    const { page } = await on().come()
    const found: string[] = []
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    // what stands around every view
    found.push(...(await faults(page, axe, { where: 'document' })))
    for (const path of VIEWS) {
      await move(page, path)
      found.push(...(await faults(page, axe)))
      // the same page in other colours
      await page.emulateMedia({ colorScheme: 'dark' })
      await settle(page)
      found.push(...(await faults(page, axe, { runOnly: ['color-contrast'] })))
      if (SHOWN.includes(path)) await shoot(page, `dark${path.replaceAll(/\W+/g, '-')}`)
      await page.setViewportSize({ width: 375, height: 800 })
      const isNarrow = () => page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')
      await until(isNarrow, { timeout: 3_000 }).catch(() => found.push(`${path} is wider than a phone`))
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.emulateMedia({ colorScheme: 'light' })
      await settle(page)
    }
    expect(found).toEqual([])
  }, 120_000)

  test('the sign-in: nothing serious for axe either', async () => {
    const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
    const { page } = await on().come({ as: 'nobody' })
    await page.goto('/')
    await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
    const light = await faults(page, axe, { where: 'document' })
    await page.emulateMedia({ colorScheme: 'dark' })
    await settle(page)
    expect([...light, ...(await faults(page, axe, { where: 'document' }))]).toEqual([])
  })

  test('by keyboard alone: past the menu, and through a dialogue that gives the focus back', async () => {
    const { page } = await on().come()
    await page.goto('/sources')
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

  test('on a phone the menu opens, and closes when it has led somewhere', async () => {
    const { page } = await on().come()
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto('/')
    await page.getByRole('button', { name: 'Open the menu' }).click()
    await page.getByRole('link', { name: 'Destinations' }).click()
    await page.getByRole('link', { name: 'Mail' }).waitFor()
    await page.getByRole('button', { name: 'Open the menu' }).waitFor()
    await shoot(page, 'phone')
  })

  test('a destination is deleted after one is asked, and signing out ends the session', async () => {
    await on().sluice.destination('gone', [`${on().good.url}/gone`])
    const { page } = await on().come()
    await page.goto('/destinations/gone/settings')
    await page.getByRole('button', { name: 'Delete destination' }).click()
    await page.getByRole('button', { name: 'Delete gone' }).click()
    await page.getByRole('link', { name: 'Mail' }).waitFor()
    expect((await on().sluice.api('get', 'destinations/gone')).status).toBe(404)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
  })
}

type Found = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

type Asked = { where?: "'main'" | 'document'; runOnly?: readonly string[] }

/** What axe calls serious or critical: where, and what. It is put into the page past its policy, as a debugger would. */
async function faults(
  page: Page,
  axe: string,
  { where = "'main'", ...rules }: Asked = {},
): Promise<string[]> {
  // half a megabyte, once for each page that is loaded
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe)
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules })
  const { violations } = await page.evaluate<Found>(`axe.run(${where}, ${options})`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary }) =>
          `${new URL(page.url()).pathname}: ${id}: ${html.slice(0, 160)} ${failureSummary ?? ''}`,
      ),
    )
}
