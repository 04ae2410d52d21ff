import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { giveUp } from './dead-letters.ts'
import type { Stage } from './stage.ts'
import { shoot } from './visit.ts'

/** @param on the stage, once it is open. */
export function lookInto(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good, bad } = on()
    await sluice.api('post', 'sources', { id: 'shop', name: 'Shop', writeKey: 'shop-write-key' })
    await sluice.destination('crm', [`${good.url}/crm`])
    await sluice.destination('billing', [`${bad.url}/status/503`])
    await sluice.destination('search', [`${good.url}/search`], { eventTypes: ['identify'] })
    await sluice.destination('old', [`${good.url}/old`], { enabled: false })
    await sluice.send([
      { type: 'track', userId: 'anna', event: 'Paid', messageId: 'paid-1' },
      { type: 'track', userId: 'anna', event: 'Kept', messageId: 'kept-1', integrations: { All: false } },
      { type: 'track', event: 'Of nobody', messageId: 'nobody-1' },
    ])
  })
  test('why did my event not arrive? Delivered here, tried again there, and why not elsewhere', async () => {
    const { page } = await on().come()
    await page.goto('/deliveries')
    await page.getByRole('textbox', { name: 'Message id' }).fill('paid-1')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('heading', { name: 'track “Paid”' }).waitFor()
    await page.getByText('Delivered', { exact: true }).first().waitFor()
    await page.getByText('Retrying', { exact: true }).waitFor()
    await page.getByText(/next attempt in \d+ sec/).waitFor()
    await page.getByText('The receiver answered that it has failed').first().waitFor()
    await page.getByText('The destination does not take events of this type').waitFor()
    await page.getByText('The destination is off.').waitFor()
    await shoot(page, 'where-is-my-event')
  })

  test('an event that its call turned off, one that was rejected, and one that nobody knows', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.goto('/deliveries?messageId=kept-1')
    await page.getByText('The call itself turned it off').first().waitFor()
    await page.goto('/deliveries?messageId=nobody-1')
    await page.getByText('Rejected', { exact: true }).waitFor()
    await page.getByText('userId or anonymousId is needed').waitFor()
    await page.goto('/deliveries?messageId=nothing-1')
    await page.getByText('There is no such event').waitFor()
    await page.goto('/deliveries?userId=anna')
    await page.getByRole('heading', { name: 'track “Kept”' }).waitFor()
    expect(await page.getByRole('article').count()).toBe(2)
  })

  test('times are those of who looks, and in UTC where the pointer rests', async () => {
    const { page } = await on().come()
    await page.goto('/deliveries?messageId=paid-1')
    const time = page.getByRole('article').locator('time').first()
    await time.waitFor()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    const hour = new Intl.DateTimeFormat('en-US', {
      hour: 'numeric',
      hour12: false,
      timeZone: 'Europe/Berlin',
    })
    expect(Number(hour.format(at)) % 12).toBe(Number(/(\d+):/.exec(await time.innerText())?.[1]) % 12)
    expect(await time.getAttribute('title')).toBe(
      `${at.toISOString().replace('T', ' ').replace('Z', '')} UTC`,
    )
  })

  test('health: what was delivered and how fast, and what is wrong in words', async () => {
    await on().sluice.send([{ type: 'track', userId: 'u3', event: 'Paid' }])
    const { page } = await on().come()
    await page.goto('/')
    await page.getByRole('row', { name: /crm Healthy/ }).waitFor()
    await shoot(page, 'overview')
    await page.getByRole('link', { name: 'billing' }).click()
    await page.getByText("Look into the receiver's own log").waitFor()
    await page.getByRole('button', { name: /Deliveries a minute.*show as table/ }).click()
    await page.getByRole('table', { name: /Deliveries a minute/ }).waitFor()
    await page.goto('/destinations/crm')
    await page.getByText('Last delivered').waitFor()
    await page.getByRole('img', { name: /Time to answer.*p50: now/ }).waitFor()
    await shoot(page, 'health')
  })

  test('dead letters are seen with reason, attempts and body, and one, some, or all are sent again', async () => {
    const { sluice, good } = on()
    await giveUp(
      sluice,
      Array.from({ length: 5 }, (_, index) => ({
        destinationId: 'crm',
        deliveryId: `dead-${index}`,
        messageId: `gone-${index}`,
        deadReason: index < 3 ? 'attempts_exhausted' : 'window_expired',
        body: `{"version":1,"type":"track","event":"Lost ${index}"}`,
      })),
    )
    const again = (id: string) => () =>
      good.arrivals.filter(({ headers }) => headers['x-replay'] === 'true' && headers['x-delivery-id'] === id)
        .length
    const { page } = await on().come()
    await page.goto('/dead')
    await page.getByRole('button', { name: 'Details of gone-0' }).click()
    await page.getByText('Lost 0').waitFor()
    await page.getByText('The last attempt of the retry plan has failed.').first().waitFor()
    await shoot(page, 'dead-letters')

    await page.getByRole('button', { name: 'Replay gone-0' }).click()
    await until(() => again('dead-0')() === 1)
    await page.getByText('Done', { exact: true }).first().waitFor()

    await page.getByRole('checkbox', { name: 'Select gone-1' }).check()
    await page.getByRole('checkbox', { name: 'Select gone-2' }).check()
    await page.getByRole('button', { name: 'Replay 2 selected' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
    await until(() => again('dead-1')() === 1 && again('dead-2')() === 1)

    await page.getByRole('button', { name: /2 crm: too late to retry/ }).click()
    await page.getByRole('button', { name: 'Details of gone-0' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Replay all of this filter' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click()
    await until(() => again('dead-3')() === 1 && again('dead-4')() === 1)
    expect([again('dead-0')(), again('dead-1')()]).toEqual([1, 1])
  })

  test('on call: each group with records, seconds and state, what comes in, and all of it live', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.goto('/lag')
    for (const group of [
      /^router Accepted calls.* records?.* behind/,
      /^deliverer First attempts.* records?.* behind/,
      /^deliverer.due Retries.* records?.* behind/,
      /^deliverer.rungs The retry ladder.* records?.* past due/,
    ])
      await page.getByRole('button', { name: group }).waitFor()
    await page.getByRole('button', { name: /^router/ }).click()
    await page.getByRole('row', { name: /events 0 \d/ }).waitFor()
    await page.getByRole('img', { name: /Seconds behind/ }).waitFor()
    const rate = page.getByText('Calls in, a second').locator('..')
    await until(async () => {
      await on().sluice.send([{ type: 'track', userId: 'u2', event: 'Now' }])
      return /[1-9]/.test((await rate.innerText()).replace('Calls in, a second', ''))
    })
    await shoot(page, 'lag')
  })
}
