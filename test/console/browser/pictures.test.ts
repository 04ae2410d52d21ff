import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { startReceiver } from '../../helpers/receiver.ts'
import { startSystem } from '../../helpers/system.ts'
import { until } from '../../helpers/until.ts'
import { openChromium } from './chromium.ts'
import { ADMIN } from './stage.ts'
import { signIn } from './visit.ts'

/** For README: `npm run pictures`. */
test('screenshots for README', async () => {
  const [browser, good, bad, sluice] = await Promise.all([
    openChromium(),
    startReceiver(),
    startReceiver(),
    startSystem({ RETRY_LADDER: '60s' }),
  ])
  onTestFinished(async () => {
    await Promise.all([browser.close(), good.close(), bad.close(), sluice.close()])
  })
  const context = await browser.newContext({
    baseURL: sluice.control,
    locale: 'en-GB',
    viewport: { width: 1180, height: 760 },
  })
  const page = await context.newPage()
  const named = (id: string, name: string, url: string, more = {}) =>
    sluice.destination(id, [url], { name, ...more })
  await named('crm', 'CRM', `${good.url}/crm`)
  await named('billing', 'Billing', `${bad.url}/status/503`)
  await named('search', 'Search index', `${good.url}/search`, { eventTypes: ['identify'] })
  await named('old', 'Old system', `${good.url}/old`, { enabled: false })
  await sluice.send([{ type: 'track', userId: 'ann', event: 'Order Paid', messageId: 'order-1042' }])
  // before the other events fail and open the breaker
  await until(() => bad.arrivals.length > 0)
  await sluice.send(Array.from({ length: 30 }, (_, index) => ({ type: 'identify', userId: `user-${index}` })))
  await until(() => good.arrivals.length >= 61)

  await signIn(page, ADMIN)
  await page.getByRole('row', { name: /CRM Healthy/ }).waitFor()
  await picture(page, 'overview')

  await page.goto('/deliveries?messageId=order-1042')
  await page.getByText('Retrying', { exact: true }).waitFor()
  await picture(page, 'event')

  await page.setViewportSize({ width: 1180, height: 900 })
  await page.goto('/catalog/webhooks')
  await page.getByRole('button', { name: 'Next: URLs' }).click()
  await page.getByRole('button', { name: 'Add another URL' }).click()
  await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill('https://crm.example/hooks/events')
  await page.getByRole('textbox', { name: 'URL 2', exact: true }).fill('https://crm-2.example/hooks/events')
  await page.getByRole('button', { name: 'Add header' }).first().click()
  await page.getByRole('textbox', { name: 'Name of header 1 of URL 1' }).fill('X-Team')
  await page.getByRole('textbox', { name: 'Value of header 1 of URL 1' }).fill('crm')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('CRM')
  await picture(page, 'set-up')
  expect(await page.getByText('Each event is sent to all webhooks at the same time').count()).toBe(1)
})

async function picture(page: Page, name: string): Promise<void> {
  const path = fileURLToPath(new URL(`../../../docs/images/console-${name}.png`, import.meta.url))
  await page.screenshot({ path, animations: 'disabled' })
}
