import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import type { Stage } from './stage.ts'
import { copy, move, settle, shoot, untilFound } from './visit.ts'

const PHONE = { width: 375, height: 800 }
const SMALL = { width: 320, height: 800 }
/** As long as it may be. */
const INITECH = `initech-${'x'.repeat(56)}`

export function openPortal(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good, bad } = on()
    for (const workspaceId of ['acme', 'globex']) {
      const id = `${workspaceId}-app`
      await sluice.api('post', 'sources', {
        id,
        name: `App of ${workspaceId}`,
        writeKey: `${id}-key`,
        workspaceId,
      })
      const of = { workspaceId, sourceIds: [id] }
      await sluice.destination(`${workspaceId}-crm`, [`${bad.url}/status/404`], {
        ...of,
        name: `CRM of ${workspaceId}`,
      })
      await sluice.destination(`${workspaceId}-ok`, [`${good.url}/${id}`], {
        ...of,
        name: `Store of ${workspaceId}`,
      })
      const call = { type: 'track', userId: 'ann', event: 'Ordered', messageId: `order-of-${workspaceId}` }
      await sluice.send([call], `${id}-key`)
    }
    await until(async () => {
      const counts = ['acme-crm', 'globex-crm'].map(async (id) => {
        const { body } = await sluice.api('get', `dead?destinationId=${id}`)
        return (body.items as unknown[]).length
      })
      return (await Promise.all(counts)).every((count) => count === 1)
    })
  })

  async function tokenOf(workspaceId: string): Promise<string> {
    const { status, body } = await on().sluice.api('post', `workspaces/${workspaceId}/tokens`, {})
    expect(status).toBe(201)
    return String(body.token)
  }

  const linkTo = async (workspaceId: string, path = '/') => `${path}#token=${await tokenOf(workspaceId)}`

  /** What the page asked for and may not have. */
  function refusals(page: Page): string[] {
    const refused: string[] = []
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(new URL(response.url()).pathname)
    })
    return refused
  }

  const fits = (page: Page) => page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

  test('an admin makes a portal link, and a customer opens it and sees only the own workspace', async () => {
    const { page: admin } = await on().come()
    await admin.goto('/destinations/acme-crm')
    await admin.getByRole('button', { name: 'Portal link' }).click()
    const dialog = admin.getByRole('dialog', { name: 'Portal link for workspace acme' })
    await dialog.getByRole('combobox', { name: 'Valid for' }).selectOption('12 hours')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    await dialog.getByText('Shown only once').waitFor()
    await settle(admin)
    await expectAccessible(admin, { where: '[role=dialog]' })
    await shoot(admin, 'portal-link')
    const link = await copy(admin, 'Copy portal link')
    await admin.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    const { page } = await on().come({ as: 'nobody' })
    const refused = refusals(page)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(link)
    await heading(page, 'Destinations')
    expect(page.url()).toBe(`${on().sluice.control}/destinations`)
    expect(asked.filter((url) => url.includes('workspace:'))).toEqual([])
    const main = page.getByRole('navigation', { name: 'Main' })
    expect(await main.getByRole('link').allInnerTexts()).toEqual([
      'Sources',
      'Destinations',
      'Dead letters',
      'Licenses',
    ])
    await page.getByRole('link', { name: 'CRM of acme' }).waitFor()
    await page.getByText('Rejecting: 404').waitFor()
    expect(await page.getByText('globex').count()).toBe(0)
    await page.getByRole('banner').getByText('acme', { exact: true }).waitFor()
    await expectAccessible(page)
    await shoot(page, 'portal-destinations')
    await page.goBack()
    expect(page.url()).not.toContain('token')
    expect(refused).toEqual([])
  })

  test('no page of the portal sends a request that is refused', async () => {
    const { page } = await on().come({ as: 'nobody', colorScheme: 'dark' })
    const refused = refusals(page)
    await page.goto(await linkTo('acme', '/sources'))
    await page.getByRole('link', { name: 'App of acme' }).click()
    await page.getByRole('link', { name: 'CRM of acme' }).waitFor()
    await shoot(page, 'portal-source')
    for (const tab of ['health', 'settings', 'rules', 'test', 'secret', 'replay', 'deliveries']) {
      await move(page, `/destinations/acme-crm/${tab}`)
      await page.getByRole('tabpanel').waitFor()
    }
    const delivery = page.getByRole('button', { name: /^Delivery of Ordered/ })
    await untilFound(page, () => delivery.isVisible())
    await page.getByText('Live', { exact: true }).waitFor()
    await delivery.click()
    const drawer = page.getByRole('dialog', { name: 'Delivery' })
    await drawer.getByText('order-of-acme').first().waitFor()
    expect(await drawer.getByRole('link').count()).toBe(0)
    await shoot(page, 'portal-delivery')
    await page.keyboard.press('Escape')

    await page.getByRole('link', { name: 'Dead letters' }).click()
    await page.getByRole('button', { name: 'Details of order-of-acme' }).click()
    await page.getByLabel('Request body').waitFor()
    expect(await page.getByText('globex').count()).toBe(0)
    await page.getByRole('button', { name: 'Replay order-of-acme' }).click()
    const dialog = page.getByRole('dialog', { name: 'Replay dead letters' })
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Recent replays').waitFor()
    await shoot(page, 'portal-dead')

    for (const path of [
      '/deliveries',
      '/lag',
      '/users',
      '/audit',
      '/backup',
      '/audiences',
      '/traits',
      '/nowhere',
    ]) {
      await move(page, path)
      await heading(page, 'Page not found')
    }
    await page.getByRole('link', { name: 'Go to the start', exact: true }).click()
    await heading(page, 'Destinations')
    await page.setViewportSize(PHONE)
    await settle(page)
    await expectAccessible(page)
    expect(await fits(page)).toBe(true)
    await shoot(page, 'portal-phone')
    expect(refused).toEqual([])
  })

  test('a customer sets up a destination for a source of the workspace, and tests it', async () => {
    const { page } = await on().come({ as: 'nobody' })
    const refused = refusals(page)
    await page.goto(await linkTo('acme'))
    await page.getByRole('link', { name: 'New destination' }).click()
    await page.getByRole('link', { name: 'Set up Webhooks' }).click()
    await page.getByRole('checkbox', { name: 'App of acme' }).waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(1)
    expect(await page.getByRole('button', { name: 'Create source' }).count()).toBe(0)
    expect(await page.getByRole('combobox', { name: 'Workspace' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Next: URLs' }).click()
    await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill(`${on().good.url}/of-customer`)
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Of the customer')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('status 200').waitFor()
    expect(on().good.arrivals.some(({ path }) => path === '/of-customer')).toBe(true)
    await page.getByRole('button', { name: 'Next: turn on' }).click()
    await page.getByRole('switch', { name: 'Turn Of the customer on' }).click()
    await page.getByRole('link', { name: 'Finish: view Of the customer' }).click()
    await page.getByText('Its sources sent no events for it').waitFor()
    await shoot(page, 'portal-new-destination')
    const { body } = await on().sluice.api('get', 'destinations')
    expect(body.items).toContainEqual(
      expect.objectContaining({ name: 'Of the customer', workspaceId: 'acme', enabled: true }),
    )
    expect(refused).toEqual([])
  })

  test('whoever is signed in is asked before a link opens another workspace', async () => {
    const { page, context } = await on().come({ isNew: true })
    const link = await linkTo('acme')
    await page.goto(link)
    const dialog = page.getByRole('dialog', { name: 'Open workspace acme?' })
    await dialog.getByText('signed in as the admin').waitFor()
    expect(new URL(page.url()).hash).toBe('')
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await shoot(page, 'portal-question')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Audit log' }).waitFor()

    // the page is open already, so the browser does not load it again
    await page.evaluate(`location.hash = ${JSON.stringify(link.slice(link.indexOf('#')))}`)
    await dialog.getByRole('button', { name: 'Open workspace acme' }).click()
    await heading(page, 'Destinations')
    expect(new URL(page.url()).hash).toBe('')
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0)
    await page.goto(await linkTo('globex'))
    await page.getByText('signed in to workspace acme').waitFor()
    await page.getByRole('button', { name: 'Open workspace globex' }).click()
    await page.getByRole('link', { name: 'CRM of globex' }).waitFor()
    expect(await page.getByText('CRM of acme').count()).toBe(0)

    const other = await context.newPage()
    await other.goto(await linkTo('acme'))
    await other.getByRole('button', { name: 'Open workspace acme' }).click()
    await other.getByRole('link', { name: 'CRM of acme' }).waitFor()
    await other.close()
    // a browser without a window does not tell that the user has returned to the page
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
    await page.getByRole('banner').getByText('acme', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'CRM of acme' }).waitFor()
    expect(await page.getByText('globex').count()).toBe(0)
  })

  test('a link that is not valid says so, and offers to sign in', async () => {
    const { sluice } = on()
    const token = await tokenOf('acme')
    const headers = { authorization: `Bearer ${token}` }
    await fetch(`${sluice.control}/api/session`, { method: 'DELETE', headers })
    const { page } = await on().come({ as: 'nobody' })
    await page.goto(`/#token=${token}`)
    await page.getByText('This link does not work').waitFor()
    await page.getByText('This token is not valid').waitFor()
    await page.getByText('for a new one').waitFor()
    expect(await page.getByRole('textbox', { name: 'Control token' }).count()).toBe(0)
    expect(new URL(page.url()).hash).toBe('')
    await shoot(page, 'portal-not-valid')
    await page.getByRole('button', { name: 'Sign in with a control token' }).click()
    await page.getByRole('textbox', { name: 'Control token' }).waitFor()
    // links of operators do not sign in
    await page.goto('/#token=test-admin-token-0123456789')
    await page.getByRole('textbox', { name: 'Control token' }).waitFor()
    expect(new URL(page.url()).hash).toBe('')
  })

  test('at the end of a session, a customer continues with a new link and loses nothing', async () => {
    const { page, context } = await on().come({ as: 'nobody' })
    await page.goto(await linkTo('acme', '/destinations/acme-ok/settings'))
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('Typed before')
    await context.clearCookies()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.getByText('Open a new portal link').waitFor()
    expect(await dialog.getByRole('textbox').count()).toBe(0)
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await shoot(page, 'portal-ended')

    const other = await context.newPage()
    await other.goto(await linkTo('acme'))
    await heading(other, 'Destinations')
    await other.close()
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('Typed before')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
  })

  test('an admin puts a source and its destination into a workspace, which then cannot change', async () => {
    const { page } = await on().come()
    await page.goto('/sources')
    await page.getByRole('row', { name: /App of acme.*acme.*On/ }).waitFor()
    await page.getByRole('button', { name: 'New source' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('App of initech')
    await page.getByRole('textbox', { name: 'Workspace' }).fill('Initech!')
    await page.getByRole('button', { name: 'Create source' }).click()
    const workspace = page.getByRole('textbox', { name: 'Workspace' })
    await until(async () => (await workspace.getAttribute('aria-invalid')) === 'true')
    await workspace.fill(INITECH)
    await page.getByRole('button', { name: 'Create source' }).click()
    await heading(page, 'App of initech')
    await page.getByRole('button', { name: 'Portal link' }).waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await workspace.waitFor()
    expect(await workspace.getAttribute('readonly')).not.toBeNull()
    await shoot(page, 'portal-source-settings')

    await page.goto('/catalog/webhooks')
    await page.getByRole('combobox', { name: 'Workspace' }).selectOption(INITECH)
    await page.getByRole('checkbox', { name: 'App of initech' }).check()
    expect(await page.getByRole('checkbox').count()).toBe(1)
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'portal-set-up-by-admin')
    await page.getByRole('button', { name: 'Next: URLs' }).click()
    await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill(`${on().good.url}/initech`)
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Hook of initech')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByRole('button', { name: 'Save without a secret' }).click()
    await page.getByText('is saved but still off').waitFor()
    await page.goto('/destinations')
    await page.getByRole('row', { name: `Hook of initech Webhooks ${INITECH} Off` }).waitFor()
    await page.getByRole('link', { name: 'Hook of initech', exact: true }).click()
    await page.getByRole('tab', { name: 'Settings' }).click()
    expect(await page.getByRole('combobox', { name: 'Workspace' }).isDisabled()).toBe(true)
    await shoot(page, 'portal-destination-settings')
    await page.setViewportSize(SMALL)
    await settle(page)
    await shoot(page, 'portal-phone-of-admin')
    expect(await fits(page)).toBe(true)

    const { page: portal } = await on().come({ as: 'nobody' })
    await portal.setViewportSize(SMALL)
    await portal.goto(await linkTo(INITECH))
    await portal.getByRole('link', { name: 'Hook of initech', exact: true }).waitFor()
    expect(await fits(portal)).toBe(true)
    await shoot(portal, 'portal-phone-long')
  })
}
