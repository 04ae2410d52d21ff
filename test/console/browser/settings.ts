import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { createProducer } from '../../../kafka/produce/produce.ts'
import { CONFIG } from '../../../settings/settings.ts'
import { until } from '../../helpers/until.ts'
import { expectAccessible, violationsIn } from './axe.ts'
import { writeDeadLetters } from './dead-letters.ts'
import { ADMIN, type Stage } from './stage.ts'
import { endSessionAt, move, settle, shoot } from './visit.ts'

const VIEWS = [
  '/',
  '/catalog',
  '/catalog/webhooks',
  '/sources',
  '/sources/shop',
  '/destinations',
  '/destinations/long',
  ...['health', 'deliveries', 'settings', 'rules', 'test', 'secret', 'replay'].map(
    (tab) => `/destinations/mail/${tab}`,
  ),
  '/deliveries',
  '/deliveries?userId=u1',
  '/dead',
  '/lag',
  '/users',
  '/users?userId=u1',
  '/audit',
  '/backup',
  '/audiences',
  '/traits',
  '/nothing',
]

/** Other tests take the other screenshots. */
const DARK_SCREENSHOTS = [
  '/',
  '/destinations/mail/health',
  '/destinations/mail/deliveries',
  '/destinations/mail/settings',
  '/deliveries?userId=u1',
  '/dead',
  '/users?userId=u1',
  '/audit',
]

export function manageSettings(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good } = on()
    await sluice.destination('mail', [], {
      name: 'Mail',
      sharedSecret: 'first-secret',
      webhooks: [{ url: `${good.url}/mail`, headers: { 'X-Key': 'stored-value' } }],
    })
    await sluice.destination('long', [good.url], { name: 'n'.repeat(200), enabled: false })
    await sluice.send([{ type: 'track', userId: 'u1', event: 'Paid' }])
    await until(() => mail().length > 0)
    await writeDeadLetters(sluice, [
      {
        deliveryId: 'dead-mail',
        messageId: 'gone-mail',
        destinationId: 'mail',
        deadReason: 'window_expired',
      },
    ])
  })

  const mail = () => on().good.arrivals.filter(({ path }) => path === '/mail')
  const destination = async (id = 'mail') => (await on().sluice.api('get', `destinations/${id}`)).body

  test('the sign-in page loads less than 160 KB on a first visit', async () => {
    const { page } = await on().come({ as: 'nobody' })
    await page.goto('/')
    await page.getByRole('heading', { name: 'Sign in to Sluice' }).waitFor()
    const bytes = await page.evaluate<number>(LOADED)
    expect([bytes > 50_000, bytes < 160_000]).toEqual([true, true])
    const light = await violationsIn(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await settle(page)
    expect([...light, ...(await violationsIn(page, { runOnly: ['color-contrast'] }))]).toEqual([])
  })

  /** As another user would. */
  async function saveElsewhere(changed: object, id = 'mail') {
    const { version, ...theirs } = await destination(id)
    const match = { 'if-match': `"${version}"` }
    await on().sluice.api('put', `destinations/${id}`, { ...theirs, ...changed }, match)
  }

  /** Another user saves just before this page does. Any earlier, and the page could already show the change. */
  const saveFirst = (page: Page, changed: object, id: string) =>
    page.route(`**/api/destinations/${id}`, async (route) => {
      if (route.request().method() === 'PUT') await saveElsewhere(changed, id)
      await route.continue()
    })

  test('neither a form nor the switch overwrites what another user has saved', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/mail/settings')
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    const save = page.getByRole('button', { name: 'Save' })
    await name.fill('Mine')
    await saveElsewhere({ name: 'Theirs' })
    await save.click()
    await page.getByText('They changed: name').waitFor()
    await shoot(page, 'changed-meanwhile')
    await page.getByRole('button', { name: 'Discard mine and show theirs' }).click()
    await until(async () => (await name.inputValue()) === 'Theirs')
    await name.fill('Mine')
    await saveElsewhere({ name: 'Theirs too' })
    await save.click()
    await page.getByRole('button', { name: 'Keep mine' }).click()
    await page.getByText('Someone else changed this').waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('Mine')
    await save.click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await destination()).toMatchObject({ name: 'Mine', webhooks: [{ headers: { 'X-Key': '***' } }] })
    await name.fill('Mail')
    await page.getByText('Saved', { exact: true }).waitFor({ state: 'detached' })
    await save.click()
    await page.getByText('Saved', { exact: true }).waitFor()
    await on().sluice.send([{ type: 'track', userId: 'u1', event: 'Later', messageId: 'later-1' }])
    const later = await until(() => mail().find(({ body }) => body.includes('Later')))
    expect(later.headers['x-key']).toBe('stored-value')

    await saveFirst(page, { retryOn: [429] }, 'mail')
    await page.getByRole('switch', { name: 'Mail is on' }).press('Space')
    await page.getByRole('button', { name: 'Turn Mail off' }).click()
    await page.getByText('Someone else just changed this destination').waitFor()
    await page.unrouteAll()
    await page.getByRole('switch', { name: 'Mail is on' }).press('Space')
    await page.getByRole('button', { name: 'Turn Mail off' }).click()
    await page.getByRole('switch', { name: 'Mail is off' }).press('Space')
    await page.getByRole('switch', { name: 'Mail is on' }).waitFor()
    expect(await destination()).toMatchObject({ enabled: true, retryOn: [429] })
  })

  test('a destination is paused; its deliveries are held, and sent after it is resumed', async () => {
    const { sluice, good } = on()
    await sluice.destination('calm', [`${good.url}/calm`], { name: 'Calm' })
    const { page } = await on().come()
    await page.goto('/destinations/calm')
    const pause = page.getByRole('button', { name: 'Pause', exact: true })
    const resume = page.getByRole('button', { name: 'Resume', exact: true })
    const paused = page.getByText('This destination is paused')
    await saveFirst(page, { retryOn: [429] }, 'calm')
    await pause.click()
    await page.getByText('Someone else just changed this destination').waitFor()
    await page.unrouteAll()
    expect(await destination('calm')).not.toHaveProperty('paused')
    await pause.click()
    await paused.waitFor()
    await page.getByText('Deliveries are held and sent after you resume it, within').waitFor()
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'paused')

    // other changes keep it paused
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Quiet')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Secret' }).click()
    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByRole('button', { name: 'Set secret' }).click()
    await until(async () => (await destination('calm')).sharedSecret !== undefined)
    expect(await destination('calm')).toMatchObject({ name: 'Quiet', enabled: true, paused: true })

    await sluice.send([{ type: 'track', userId: 'u1', event: 'Kept', messageId: 'kept-1' }])
    await page.getByRole('tab', { name: 'Deliveries' }).click()
    await page.getByRole('row', { name: /Kept.*Held/ }).waitFor()
    await page.getByRole('button', { name: 'Delivery of Kept, message kept-1' }).click()
    const drawer = page.getByRole('dialog', { name: 'Delivery' })
    await drawer
      .getByText('After you resume it, the delivery is sent within a quarter of the length of the pause')
      .waitFor()
    expect(await drawer.getByRole('button', { name: /^Resend/ }).count()).toBe(0)
    await drawer.getByRole('button', { name: 'Show all' }).click()
    await drawer.getByRole('row', { name: /Held: the destination was paused/ }).waitFor()
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await shoot(page, 'held')
    await move(page, '/destinations')
    await page.getByRole('row', { name: /Quiet.*Paused/ }).waitFor()
    await page.getByRole('row', { name: /n{200}.*Off/ }).waitFor()
    await move(page, '/')
    await page.getByRole('row', { name: /Quiet.*Paused/ }).waitFor()
    const { page: seen } = await on().come({ as: 'view' })
    await seen.goto('/destinations/calm')
    await seen.getByText('This destination is paused').waitFor()
    expect(await seen.getByRole('button', { name: 'Resume' }).count()).toBe(0)

    expect(good.arrivals.some(({ path }) => path === '/calm')).toBe(false)
    await page.setViewportSize({ width: 375, height: 800 })
    await move(page, '/destinations/calm')
    await shoot(page, 'paused-phone')
    await resume.click()
    await paused.waitFor({ state: 'detached' })
    expect((await destination('calm')).paused).toBeFalsy()
    await until(() => good.arrivals.some(({ path, body }) => path === '/calm' && body.includes('Kept')))
    await move(page, '/deliveries?messageId=kept-1')
    await page
      .getByRole('article')
      .getByText(/held while the destination was paused/)
      .waitFor()

    // before it is turned off, the dialog offers a pause instead
    await move(page, '/destinations/calm')
    await page.getByRole('switch', { name: 'Quiet is on' }).press('Space')
    const dialog = page.getByRole('dialog', { name: 'Turn Quiet off?' })
    await dialog.waitFor()
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await shoot(page, 'turn-off')
    await dialog.getByRole('button', { name: 'Pause it instead' }).click()
    await paused.waitFor()
    await dialog.waitFor({ state: 'detached' })
    expect(await destination('calm')).toMatchObject({ enabled: true, paused: true })
    await move(page, '/destinations/calm/deliveries')
    await page.getByRole('button', { name: 'Resend all matching' }).click()
    await page.getByRole('dialog').getByText('Paused: Quiet. Deliveries to a paused destination').waitFor()
    await page.keyboard.press('Escape')
    await sluice.api('delete', 'destinations/calm')
  })

  test('repeating a change whose response was lost is no conflict', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/mail/settings')
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    const save = page.getByRole('button', { name: 'Save' })
    await name.fill('Saved unheard')
    await page.route('**/api/destinations/mail', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      await route.fetch()
      await route.abort()
    })
    await save.click()
    await page.getByText('the change may or may not have been made').waitFor()
    await page.unrouteAll()
    const { version } = await destination()
    await save.click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await destination()).toMatchObject({ name: 'Saved unheard', version })
    await name.fill('Mail')
    await save.click()
    await until(async () => (await destination()).name === 'Mail')
  })

  test('unsaved input survives the end of the session', async () => {
    const { page } = await on().come({ isNew: true })
    await page.goto('/destinations/mail/settings')
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('Typed before')
    await endSessionAt(page, 'PUT', 'destinations/mail')
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
    await dialog.waitFor()
    await page.unrouteAll()
    await dialog.getByRole('textbox', { name: 'Control token' }).fill(ADMIN)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('Typed before')
    await name.fill('Mail')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
  })

  test('a secret can be replaced but not viewed, and the previous one keeps signing for a day', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/mail/secret')
    await page.getByRole('button', { name: 'Generate' }).click()
    await page.getByRole('button', { name: 'Replace secret' }).click()
    await page.getByText('Rotation in progress').waitFor()
    expect(await page.getByRole('textbox', { name: 'New secret' }).inputValue()).toBe('')
    expect(await page.content()).not.toContain('first-secret')
    // the deliverer applies the change within a second
    await until(async () => {
      await on().sluice.send([{ type: 'track', userId: 'u1', event: 'Rotated' }])
      return mail().some(({ headers }) => 'x-signature-previous' in headers)
    })
  })

  test('an audience is created, its members uploaded and receivers notified', async () => {
    const { page } = await on().come()
    await page.goto('/audiences')
    await page.getByText('No audiences yet').waitFor()
    await page.getByRole('button', { name: 'New audience' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('High Value Users')
    await page.getByRole('combobox', { name: 'Source' }).selectOption('shop')
    await page.getByRole('button', { name: 'Create audience' }).click()
    await page.getByText('high_value_users').waitFor()
    await page.getByRole('button', { name: 'Upload members to High Value Users' }).click()
    await page.getByRole('textbox', { name: 'User IDs' }).fill('u1\nu2')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('Adds 2, removes 0').waitFor()
    await page.getByRole('button', { name: 'Upload', exact: true }).click()
    await page.getByText('Compared 2 users with the last upload').waitFor()
    await until(() => mail().filter(({ body }) => body.includes('high_value_users')).length === 2)
    // the consent to an empty upload counts once
    await page.getByRole('textbox', { name: 'User IDs' }).fill('')
    await page.getByRole('button', { name: 'Preview' }).click()
    const upload = page.getByRole('button', { name: 'Upload', exact: true })
    await until(() => upload.isDisabled())
    await page.getByRole('checkbox', { name: /everyone has left/ }).check()
    await until(() => upload.isEnabled())
    await page.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Upload members to High Value Users' }).click()
    await page.getByRole('textbox', { name: 'User IDs' }).waitFor()
    await page.getByRole('button', { name: 'Preview' }).click()
    await until(() => upload.isDisabled())
    expect(await page.getByRole('checkbox', { name: /everyone has left/ }).isChecked()).toBe(false)
  })

  test('past events are replayed to a new destination', async () => {
    const { sluice, good, come } = on()
    await sluice.destination('late', [`${good.url}/late`])
    const { page } = await come()
    await page.goto('/deliveries?event=Paid')
    await page.getByText('The settings of the destination changed after the event arrived').first().waitFor()
    await page.goto('/destinations/late/replay')
    await page.getByRole('link', { name: 'dead letters of' }).click()
    expect(await page.getByRole('combobox', { name: 'Destination' }).inputValue()).toBe('late')
    await page.goto('/destinations/late/replay')
    await page.getByRole('button', { name: 'Replay events' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Done', { exact: true }).first().waitFor()
    const isPaid = ({ path, body }: { path: string; body: string }) =>
      path === '/late' && body.includes('Paid')
    const paid = await until(() => good.arrivals.find(isPaid))
    expect(paid.headers['x-replay']).toBe('true')
  })

  test('a view token sees no actions, and the server refuses changes', async () => {
    const { page } = await on().come({ as: 'view' })
    await page.goto('/sources/shop')
    await page.getByText('View only').waitFor()
    await page.getByText('Only visible to the admin').waitFor()
    expect(await page.content()).not.toContain('shop-write-key')
    const CHANGES = /new|delete|save|replay|upload|set up webhooks|turn|pause|resume|continue/i
    for (const [path, there] of [
      ['/sources', page.getByRole('link', { name: 'Shop', exact: true })],
      ['/destinations', page.getByRole('link', { name: 'Mail' })],
      ['/destinations/mail', page.getByText('Last delivered').first()],
      ['/catalog', page.getByText('Accepts identify, track')],
      ['/catalog/webhooks', page.getByText('Sign in as an admin to set up a destination')],
      ['/audiences', page.getByText('high_value_users')],
      ['/dead', page.getByRole('button', { name: 'Details of gone-mail' })],
    ] as const) {
      await move(page, path)
      await there.waitFor()
      const main = page.getByRole('main')
      const offered = main
        .getByRole('button', { name: CHANGES })
        .or(main.getByRole('link', { name: CHANGES }))
        .or(main.getByRole('switch'))
        .or(main.getByRole('checkbox'))
      expect([path, await offered.count()]).toEqual([path, 0])
    }
    const refused = await page.evaluate<number>(
      `fetch('/api/sources', { method: 'POST', headers: { 'X-Requested-With': 'x', 'Content-Type': 'application/json' }, body: '{"name": "Mine"}' }).then(({ status }) => status)`,
    )
    expect(refused).toBe(403)
    await shoot(page, 'view-only')
  })

  test('every view is accessible in light and dark mode and fits a phone', async () => {
    const { page } = await on().come()
    const found: string[] = []
    await page.goto('/')
    await page.getByRole('heading', { level: 1 }).waitFor()
    // the shell around every view
    found.push(...(await violationsIn(page)))
    for (const path of VIEWS) {
      await move(page, path)
      found.push(...(await violationsIn(page, { where: 'main' })))
    }
    // a second round: each change of colors or size renders everything again
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 375, height: 800 })
    const isNarrow = () => page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')
    for (const path of VIEWS) {
      await move(page, path)
      await settle(page)
      found.push(...(await violationsIn(page, { where: 'main', runOnly: ['color-contrast'] })))
      await until(isNarrow).catch(async () =>
        found.push(`${path} is wider than a phone: ${await page.evaluate<string>(WIDEST)}`),
      )
      if (DARK_SCREENSHOTS.includes(path)) await shoot(page, `dark${path.replaceAll(/\W+/g, '-')}`)
    }
    expect(found).toEqual([])
  }, 300_000)

  test('the keyboard can skip the menu, and a dialog returns the focus', async () => {
    const { page } = await on().come()
    await page.goto('/sources')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    for (let times = 0; times < 30 && (await focused()) !== 'New source'; times++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New source' }).waitFor()
    await until(async () => (await page.evaluate('document.activeElement.tagName')) === 'INPUT')
    await page.keyboard.press('Escape')
    await until(async () => (await page.evaluate('document.activeElement.textContent')) === 'New source')
  })

  test('on a phone the menu opens, and closes after navigation', async () => {
    const { page } = await on().come()
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto('/')
    expect(await page.getByRole('link', { name: 'Destinations' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Open the menu' }).click()
    await page.getByRole('link', { name: 'Destinations' }).click()
    await page.getByRole('link', { name: 'Mail' }).waitFor()
    await page.getByRole('button', { name: 'Open the menu' }).waitFor()
    await shoot(page, 'phone')
  })

  test('an unreadable setting is reported above every view until it is deleted', async () => {
    const producer = await createProducer(on().sluice.connection)
    await producer.produce([{ topic: CONFIG, key: 'destination/broken', value: 'broken' }])
    await producer.close()
    const alert = (page: Page) => page.getByRole('alert').filter({ hasText: 'A setting cannot be read' })
    const { page: seen } = await on().come({ as: 'view' })
    await seen.goto('/dead')
    await alert(seen).getByText('destination broken cannot be read: it is not a JSON object').waitFor()
    expect(await alert(seen).getByRole('button').count()).toBe(0)
    const { page } = await on().come()
    await page.goto('/')
    await alert(page).waitFor()
    await shoot(page, 'warning')
    await expectAccessible(page)
    await alert(page).getByRole('button', { name: 'Delete destination broken' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete destination broken' }).click()
    await alert(page).waitFor({ state: 'detached' })
    const { problems } = (await on().sluice.api('get', 'status')).body
    expect(JSON.stringify(problems)).not.toContain('setting_unreadable')
  })

  test('deleting a destination asks for confirmation, and signing out ends the session', async () => {
    await on().sluice.destination('gone', [`${on().good.url}/gone`])
    const { page } = await on().come({ isNew: true })
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

/** So far, compressed and with headers. */
const LOADED = `['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type))
  .reduce((sum, { transferSize }) => sum + transferSize, 0)`

const WIDEST = `[...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > innerWidth)
  .map((each) => each.outerHTML.slice(0, 120)).slice(0, 5).join(' | ')`
