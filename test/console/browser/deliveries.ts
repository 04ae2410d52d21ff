import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import type { Stage } from './stage.ts'
import { settle, shoot, untilFound } from './visit.ts'

const SOURCE = { id: 'app', name: 'App', writeKey: 'app-write-key' }

export function listDeliveries(on: () => Stage): void {
  const send = (messageId: string, userId: string, event = 'Ordered') =>
    on().sluice.send([{ type: 'track', messageId, userId, event }], SOURCE.writeKey)

  beforeAll(async () => {
    const { sluice, good, bad } = on()
    await sluice.api('post', 'sources', SOURCE)
    const source = { sourceIds: ['app'], sharedSecret: 'browser-secret' }
    await sluice.destination('shipping', [`${good.url}/shipping`], source)
    await sluice.destination('stock', [`${bad.url}/status/404`], source)
    await send('order-1', 'ann')
    await send('order-2', 'bob')
    await send('order-3', 'ann', 'Returned')
    await until(async () => {
      const { body } = await sluice.api('get', 'dead?destinationId=stock')
      return (body.items as unknown[]).length === 3
    })
  })

  const ROW = /^Delivery of /
  const again = () =>
    on().good.arrivals.filter(({ path, headers }) => path === '/shipping' && headers['x-replay'] === 'true')

  test('are listed live, until they are paused', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/shipping/deliveries')
    const rows = page.getByRole('button', { name: ROW })
    await untilFound(page, async () => (await rows.count()) === 3)
    // two users' events are routed in any order
    expect((await rows.allInnerTexts()).toSorted()).toEqual(['Ordered', 'Ordered', 'Returned'])
    await page.getByRole('row', { name: /Returned.*Delivered/ }).waitFor()
    await untilFound(page, () => page.getByText('Search complete.').isVisible())
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'deliveries')
    await send('order-4', 'cleo')
    await page.getByRole('button', { name: 'Delivery of Ordered, message order-4' }).waitFor()
    await page.getByRole('button', { name: 'Pause list' }).click()
    await page.getByText('List paused', { exact: true }).waitFor()
    await send('order-5', 'cleo')
    const listed = async () => {
      const { body } = await on().sluice.api('get', 'deliveries?destinationId=shipping&messageId=order-5')
      return (body.items as { state: string }[])[0]?.state === 'delivered'
    }
    await until(listed)
    expect(await rows.count()).toBe(4)
    await page.getByRole('button', { name: 'Resume list' }).click()
    await page.getByRole('button', { name: 'Delivery of Ordered, message order-5' }).waitFor()
    // while control does not answer, the list is not live
    await page.getByText('Live', { exact: true }).waitFor()
    await page.route('**/api/status', (route) => route.abort())
    await page.getByText('Outdated', { exact: true }).waitFor()
    await page.unroute('**/api/status')
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test('are listed live although the clock of the browser is ahead', async () => {
    const { page } = await on().come({ isNew: true })
    await page.clock.setSystemTime(Date.now() + 600_000)
    const live = page.waitForRequest((request) => new URL(request.url()).searchParams.has('since'))
    await page.goto('/destinations/shipping/deliveries')
    const since = new URL((await live).url()).searchParams.get('since')
    expect(Date.parse(since ?? '')).toBeLessThan(Date.now())
  })

  test('are filtered; the filter is part of the address', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.goto('/destinations/stock/deliveries')
    const rows = page.getByRole('button', { name: ROW })
    await untilFound(page, async () => (await rows.count()) === 5)
    await page.getByText('Rejected: 404').first().waitFor()
    await page.getByRole('textbox', { name: 'Event' }).fill('Returned')
    await page.keyboard.press('Enter')
    await until(async () => (await rows.count()) === 1)
    await page.getByRole('combobox', { name: 'State' }).selectOption('delivered')
    await page.getByText('No matching deliveries').waitFor()
    const { searchParams } = new URL(page.url())
    expect(Object.fromEntries(searchParams)).toEqual({ state: 'delivered', event: 'Returned' })
    await page.reload()
    await page.getByText('No matching deliveries').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await untilFound(page, async () => (await rows.count()) === 5)
    await page.getByRole('textbox', { name: 'User' }).fill('ann')
    await page.keyboard.press('Enter')
    await untilFound(page, async () => (await rows.count()) === 2)
  })

  test('keep their filter while a text is typed, so a click acts on the listed delivery; the text counts when it is applied', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/stock/deliveries')
    const first = page.getByRole('button', { name: 'Delivery of Ordered, message order-1' })
    await untilFound(page, () => first.isVisible())
    await page.getByRole('textbox', { name: 'Event' }).fill('Nothing')
    await page.getByRole('textbox', { name: 'User' }).fill('bob')
    await first.click()
    const drawer = page.getByRole('dialog', { name: 'Delivery' })
    await drawer.getByText(/^POST /).waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    const all = page.getByRole('button', { name: 'Resend all matching' })
    expect(await all.isDisabled()).toBe(true)
    await page.getByRole('textbox', { name: 'Event' }).fill('')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const rows = page.getByRole('button', { name: ROW })
    await until(async () => (await rows.count()) === 1)
    expect(new URL(page.url()).search).toBe('?user=bob')
    expect(await all.isDisabled()).toBe(false)

    await page.goto('/dead?destinationId=stock')
    await page.getByRole('textbox', { name: 'User' }).fill('bob')
    await page.getByRole('button', { name: 'Details of order-1' }).click()
    await page.getByLabel('Request body').getByText('"userId": "ann"').waitFor()
    expect(await page.getByRole('button', { name: 'Replay all matching' }).isDisabled()).toBe(true)
    // a choice applies the text too
    await page.getByRole('combobox', { name: 'Replayed' }).selectOption('Not yet')
    await page.getByRole('button', { name: 'Details of order-1' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Details of order-2' }).waitFor()
    expect(await page.getByRole('button', { name: 'Replay all matching' }).isDisabled()).toBe(false)
  })

  test('that need a longer search say how far back it got, and continue', async () => {
    const { page } = await on().come()
    const answer = (json: object) => ({
      json: { items: [], next: null, searchedSince: null, unknown: 0, faults: [], ...json },
    })
    const searched: string[] = []
    await page.route(/api.deliveries\?/, (route) => {
      const { searchParams } = new URL(route.request().url())
      const cursor = searchParams.get('cursor') ?? ''
      // the others look for what is new
      if (!searchParams.has('since')) searched.push(cursor)
      const since = { searchedSince: '2026-01-02T03:04:05.000Z' }
      if (cursor === '') return route.fulfill(answer({ ...since, next: '1.0.0', unknown: 2 }))
      return route.fulfill(answer({}))
    })
    await page.goto('/destinations/stock/deliveries?state=cancelled')
    await page.getByText('No matching deliveries').waitFor()
    await page.getByText('Left out: 2 deliveries whose attempts are not known').waitFor()
    expect(searched).toEqual(['', '1.0.0'])
  })

  test('show request, response and attempts of one, and send it again', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/shipping/deliveries?user=bob')
    const name = 'Delivery of Ordered, message order-2'
    await page.getByRole('button', { name }).focus()
    await page.keyboard.press('Enter')
    const drawer = page.getByRole('dialog', { name: 'Delivery' })
    await drawer.getByText(/^POST .*\/shipping$/).waitFor()
    await drawer.getByRole('row', { name: 'X-Signature ***' }).waitFor()
    await drawer.getByText('status 200').waitFor()
    await drawer.getByLabel('Request body').getByText('"userId": "bob"').waitFor()
    expect(await drawer.innerText()).not.toContain('browser-secret')
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await shoot(page, 'delivery')
    const before = again().length
    await drawer.getByRole('button', { name: 'Resend order-2' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resend deliveries' })
    await dialog.getByText('Sends this delivery to shipping').waitFor()
    await dialog.getByRole('button', { name: 'Resend' }).click()
    await until(() => again().length === before + 1)
    await dialog.waitFor({ state: 'detached' })
    // the new delivery is listed behind the drawer; the focus still returns to the old one's row
    await until(async () => (await page.locator(`[aria-label="${name}"]`).count()) === 2)
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    const focused = () => page.evaluate('document.activeElement?.getAttribute("aria-label")')
    await until(async () => (await focused()) === name)
    await page.getByText('Replay', { exact: true }).first().waitFor()
  })

  test('are sent again all at once, after the number was shown', async () => {
    const { sluice, good } = on()
    const { version, ...stock } = (await sluice.api('get', 'destinations/stock')).body
    const webhooks = [{ url: `${good.url}/corrected` }]
    await sluice.api('put', 'destinations/stock', { ...stock, webhooks }, { 'if-match': `"${version}"` })
    const { page } = await on().come()
    await page.goto('/destinations/stock/deliveries?state=rejected&event=Ordered')
    await page.getByText('Rejected: 404').first().waitFor()
    await page.getByRole('button', { name: 'Resend all matching' }).click()
    const dialog = page.getByRole('dialog', { name: 'Resend deliveries' })
    await dialog.getByText('Sends 4 deliveries to stock').waitFor()
    await expectAccessible(page, { where: '[role=dialog]' })
    await dialog.getByRole('button', { name: 'Resend' }).click()
    const corrected = () => good.arrivals.filter(({ path }) => path === '/corrected').length
    await page.getByText('The deliveries are being sent again').waitFor()
    await until(() => corrected() === 4)
    // they count as replayed: only the other one is left
    await page.goto('/dead?destinationId=stock')
    await page.getByRole('button', { name: 'Replay all matching' }).click()
    const all = page.getByRole('dialog', { name: 'Replay dead letters' })
    await all.getByText('Replays 1 dead letter to stock').waitFor()
    await all.getByRole('button', { name: 'Replay' }).click()
    await until(() => corrected() === 5)
  })

  test('fit a phone, with the details below the event', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto('/destinations/shipping/deliveries')
    await page.getByRole('button', { name: ROW }).first().click()
    await page
      .getByRole('dialog', { name: 'Delivery' })
      .getByText(/^POST /)
      .waitFor()
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(page, 'delivery-phone')
  })

  test('may be seen with the view token, but not sent again', async () => {
    const { page } = await on().come({ as: 'view' })
    await page.goto('/destinations/shipping/deliveries')
    await page.getByRole('button', { name: ROW }).first().click()
    await page.getByText(/^POST .*\*\*\*$/).waitFor()
    expect(await page.getByRole('button', { name: /Resend/ }).count()).toBe(0)
  })
}
