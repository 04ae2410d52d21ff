import type { BrowserContext } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../local/ports.ts'
import { ADMIN, api, VIEW } from '../../control/api.ts'
import { shop } from '../../control/in-memory.ts'
import { CLIENT, identityProvider } from '../../helpers/identity-provider.ts'
import { violationsIn } from './axe.ts'
import { chromiumPath, openChromium } from './chromium.ts'
import { openVisitor, settle, shoot, visit } from './visit.ts'

/** Control with its settings in memory, and a provider that signs everyone in. */
async function opened() {
  const [provider, browser, port] = await Promise.all([
    identityProvider(),
    openChromium(),
    freePort('127.0.0.1'),
  ])
  const consoleUrl = `http://localhost:${port}`
  const oidc = {
    ...{ issuer: provider.issuer, ...CLIENT, scope: 'openid', consoleUrl },
    ...{ admins: [{ name: 'email', value: 'ann@example.com' }], viewers: [] },
  }
  const control = api(
    { sources: [shop] },
    { oidc, tokens: { admin: ADMIN, view: VIEW, singleSignOn: 'settings' } },
  )
  await control.app.listen({ host: '127.0.0.1', port })
  onTestFinished(() => browser.close())
  const origins = [consoleUrl, provider.issuer, 'http://localhost:8080'] as const
  const { page, context } = await visit(await openVisitor(browser, origins, undefined), { isLast: true })
  return { provider, control, page, context }
}

describe.skipIf(!chromiumPath)('single sign-on in a browser', () => {
  test('signs in, comes back to the page, and shows who it is', async () => {
    const { page } = await opened()
    await page.goto('/sources')
    const button = page.getByRole('link', { name: 'Sign in with single sign-on' })
    await button.waitFor()
    expect(await page.getByLabel('Control token').count()).toBe(0)
    await shoot(page, 'single-sign-on')
    await settle(page)
    expect(await violationsIn(page)).toEqual([])
    await button.click()
    await page.getByText('ann@example.com').waitFor()
    await page.getByRole('link', { name: shop.name }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/sources')
    expect(await violationsIn(page)).toEqual([])
  })

  test('says why it failed, once, and still offers the token', async () => {
    const { provider, page } = await opened()
    provider.claims = { sub: 'id-of-eve' }
    await page.goto('/')
    await page.getByRole('link', { name: 'Sign in with single sign-on' }).click()
    await page.getByRole('alert').getByText('Your account may not use Sluice').waitFor()
    expect(await violationsIn(page)).toEqual([])
    expect(new URL(page.url()).hash).toBe('')
    await page.reload()
    await page.getByRole('button', { name: 'Sign in with a control token' }).click()
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.getByRole('textbox', { name: 'Control token' }).fill(ADMIN)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
  })

  test('keeps what was typed when a session ends: the sign-in opens another tab', async () => {
    const { control, page, context } = await opened()
    await page.goto('/sources')
    await page.getByRole('link', { name: 'Sign in with single sign-on' }).click()
    await page.getByRole('button', { name: 'New source' }).click()
    const name = page.getByRole('dialog', { name: 'New source' }).getByRole('textbox', { name: 'Name' })
    await name.fill('Mobile')
    await signOutElsewhere(control, context)
    await page.getByRole('button', { name: 'Create source' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    const [tab] = await Promise.all([
      context.waitForEvent('page'),
      dialog.getByRole('link', { name: 'Sign in with single sign-on' }).click(),
    ])
    await tab.getByText('ann@example.com').waitFor()
    await tab.close()
    await page.bringToFront()
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('Mobile')
  })
})

async function signOutElsewhere({ ask }: Pick<ReturnType<typeof api>, 'ask'>, context: BrowserContext) {
  const { value } = (await context.cookies()).find(({ name }) => name === 'sluice_session') ?? {}
  const headers = {
    cookie: `sluice_session=${value}`,
    'sec-fetch-site': 'same-origin',
    'x-requested-with': 'test',
  }
  expect((await ask({ method: 'DELETE', url: '/api/session', token: '', headers })).status).toBe(204)
}
