import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import { writeDeadLetters } from './dead-letters.ts'
import type { Stage } from './stage.ts'
import { move, shoot, untilFound } from './visit.ts'

export function monitor(on: () => Stage): void {
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
    await triedTwice('anna')
  })

  /** The second retry is far away. */
  const triedTwice = (userId: string) =>
    until(() => on().bad.arrivals.filter(({ body }) => body.includes(`"${userId}"`)).length === 2)

  test('event search explains where an event was delivered, is retried, or was not sent', async () => {
    const { page } = await on().come()
    await page.goto('/deliveries')
    await page.getByRole('textbox', { name: 'Message id' }).fill('paid-1')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('heading', { name: 'track “Paid”' }).waitFor()
    await page.getByText('Delivered', { exact: true }).first().waitFor()
    await page.getByText('Retrying', { exact: true }).waitFor()
    await page.getByText(/next attempt in \d+ min/).waitFor()
    await page.getByText('The receiver reported a server error').first().waitFor()
    await page.getByText('The destination does not accept events of this type').waitFor()
    await page.getByText('The destination is off.').waitFor()
    await shoot(page, 'where-is-my-event')
  })

  test('event search explains excluded, rejected and unknown events', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.goto('/deliveries?messageId=kept-1')
    await page.getByText('The call itself excludes this destination').first().waitFor()
    await move(page, '/deliveries?messageId=nobody-1')
    await page.getByText('Rejected', { exact: true }).waitFor()
    await page.getByText('A call needs userId or anonymousId').waitFor()
    // an empty page with a cursor: the search continues by itself
    const empty = { items: [], next: '1.0.0', searchedSince: '2026-01-02T03:04:05.000Z' }
    await page.route(/api.events.*nothing-1/, (route) => route.fulfill({ json: empty }), { times: 1 })
    await move(page, '/deliveries?messageId=nothing-1')
    await page.getByText('No such event').waitFor()
    await move(page, '/deliveries?userId=anna')
    await page.getByRole('heading', { name: 'track “Kept”' }).waitFor()
    await untilFound(page, async () => (await page.getByRole('article').count()) >= 2)
    expect(await page.getByRole('article').count()).toBe(2)
  })

  test('times are local, with UTC as a tooltip', async () => {
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

  test('health shows deliveries, response times and explained errors', async () => {
    await on().sluice.send([{ type: 'track', userId: 'u3', event: 'Paid' }])
    await triedTwice('u3')
    const { page } = await on().come()
    await page.goto('/')
    await page.getByRole('row', { name: /crm Healthy/ }).waitFor()
    await shoot(page, 'overview')
    await page.getByRole('link', { name: 'billing' }).click()
    await page.getByText('Check the receiver’s log').waitFor()
    // two failures do not open the breaker
    await page.getByText('Failing', { exact: true }).waitFor()
    await page.getByRole('button', { name: /Deliveries by minute.*show as table/ }).click()
    await page.getByRole('table', { name: /Deliveries by minute/ }).waitFor()

    const change = async (webhook: object) => {
      const { version, ...billing } = (await on().sluice.api('get', 'destinations/billing')).body
      const match = { 'if-match': `"${version}"` }
      await on().sluice.api('put', 'destinations/billing', { ...billing, webhooks: [webhook] }, match)
      await page.goto('/destinations/billing')
    }
    // the state stays, but the error may be of the old header
    await change({ url: `${on().bad.url}/status/503`, headers: { 'X-Token': 'new' } })
    await page.getByText(/Last error.*, before the settings changed/).waitFor()
    await page.getByText('Failing', { exact: true }).waitFor()
    expect(await page.getByText('Check the receiver’s log').count()).toBe(0)
    await page.goto('/')
    await page.getByRole('row', { name: /billing Failing/ }).waitFor()
    // another URL has no past
    await change({ url: `${on().bad.url}/status/500` })
    await page.getByText('Idle', { exact: true }).waitFor()
    expect(await page.getByText(/Last error/).count()).toBe(0)
    await page.goto('/')
    await page.getByRole('row', { name: /billing Idle/ }).waitFor()
    await page.goto('/destinations/crm')
    await page.getByText('Last delivered').waitFor()
    await page.getByText('Healthy', { exact: true }).waitFor()
    await page.getByRole('img', { name: /Response time.*p50: now/ }).waitFor()
    await shoot(page, 'health')
  })

  test('the overview counts deliveries alike in cards, charts and rows, in the chosen window', async () => {
    const { sluice, good } = on()
    const urls = [`${good.url}/one`, `${good.url}/two`]
    await sluice.destination('twice', urls, { eventTypes: ['group'] })
    await sluice.send([{ type: 'group', userId: 'anna', groupId: 'g' }])
    await until(() => good.arrivals.filter(({ body }) => body.includes('"group"')).length >= 3)
    const { page } = await on().come()
    await page.goto('/')
    for (const [title, by] of [
      ['Last hour', 'by minute'],
      ['Last 24 hours', 'by half hour'],
    ] as const) {
      await page.getByRole('heading', { name: title }).waitFor()
      // one delivery, although both webhooks got it
      await page.getByRole('row', { name: new RegExp(`^twice Healthy .* ${by}\\. .* 1 0 0 0 \\d`) }).waitFor()
      await page
        .getByRole('img', { name: new RegExp(`^Traffic of twice ${by}. Delivered: .* max 1`) })
        .waitFor()
      await page.getByRole('button', { name: new RegExp(`^Deliveries ${by}.*show as table`) }).click()
      await page.getByRole('button', { name: new RegExp(`^Calls ${by}.*show as table`) }).click()
      const counts = await page.evaluate<Record<string, number[]>>(COUNTS)
      for (const [name, [card, chart, rows]] of Object.entries(counts)) {
        expect([name, chart]).toEqual([name, card])
        expect([name, rows]).toEqual([name, card])
      }
      expect(counts.Delivered?.[0]).toBeGreaterThan(2)
      expect(counts['Failed attempts']?.[0]).toBeGreaterThan(1)
      await page.getByRole('button', { name: /^Deliveries .*show the chart/ }).click()
      await page.getByRole('button', { name: /^Calls .*show the chart/ }).click()
      if (by === 'by minute') await page.getByText('24 h', { exact: true }).click()
    }
    expect(await page.evaluate(SPARKLINE_COLORS)).toEqual({
      delivered: 'rgb(47, 158, 68)',
      failed: 'rgb(122, 16, 16)',
    })
    // the window is in the address, and in the link
    await page.reload()
    await page.getByRole('heading', { name: 'Last 24 hours' }).waitFor()
    await page.getByRole('link', { name: 'twice' }).click()
    await page.getByRole('img', { name: /^Latency by half hour.* p50: now \d/ }).waitFor()
    await expectAccessible(page)
  })

  test.each(['light', 'dark'] as const)(
    'charts are accessible in %s mode, and fit a phone',
    async (scheme) => {
      const { page } = await on().come({ colorScheme: scheme })
      for (const path of ['/?window=24h', '/destinations/crm?window=24h']) {
        await page.setViewportSize({ width: 1280, height: 900 })
        await move(page, path)
        await page.getByRole('img', { name: /^Latency by half hour/ }).waitFor()
        await shoot(page, `activity-${path.length}-${scheme}`)
        await expectAccessible(page)
        await page.setViewportSize({ width: 375, height: 800 })
        await page.getByRole('img', { name: /^Latency by half hour/ }).waitFor()
        await shoot(page, `activity-${path.length}-${scheme}-phone`)
        await expectAccessible(page, { where: 'main' })
        // the charts are drawn again after the page has its new size
        await until(async () => (await page.evaluate('document.documentElement.scrollWidth')) === 375, {
          message: 'the page is as wide as the phone',
        })
        // on one line, without a break inside a word
        await until(async () => (await page.evaluate<string[]>(TALL_LABELS)).length === 0, {
          message: 'the label of each card fits on one line',
        })
      }
    },
  )

  test('dead letters show reason, attempts and body; one, some or all of them can be replayed', async () => {
    const { sluice, good } = on()
    const letter = (index: number, fields: object) => ({
      deliveryId: `dead-${index}`,
      messageId: `gone-${index}`,
      body: `{"version":1,"type":"track","event":"Lost ${index}"}`,
      ...fields,
    })
    await writeDeadLetters(sluice, [
      ...[0, 1, 2].map((index) => letter(index, { destinationId: 'crm', deadReason: 'attempts_exhausted' })),
      letter(3, { destinationId: 'crm', deadReason: 'window_expired' }),
      letter(4, { destinationId: 'search', deadReason: 'window_expired' }),
      letter(5, { destinationId: 'old', deadReason: 'window_expired' }),
    ])
    const again = (id: string) => () =>
      good.arrivals.filter(({ headers }) => headers['x-replay'] === 'true' && headers['x-delivery-id'] === id)
        .length
    const { page } = await on().come()
    const dialog = page.getByRole('dialog', { name: 'Replay dead letters' })
    await page.goto('/dead')
    await page.getByRole('button', { name: 'Details of gone-0' }).click()
    await page.getByLabel('Request body').getByText('Lost 0').waitFor()
    await page
      .getByText('The last attempt of the retry schedule failed. Its delays: 200ms, 10m.')
      .first()
      .waitFor()
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'dead-letters')

    await page.getByRole('button', { name: 'Replay gone-0' }).click()
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await until(() => again('dead-0')() === 1)
    await page.getByText('Done', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Replay gone-0 again (already started)' }).waitFor()

    await page.getByRole('checkbox', { name: 'Select gone-1' }).check()
    await page.getByRole('checkbox', { name: 'Select gone-2' }).check()
    await page.getByRole('button', { name: 'Replay 2 selected' }).click()
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await until(() => again('dead-1')() === 1 && again('dead-2')() === 1)

    await page.getByRole('combobox', { name: 'Reason' }).selectOption('window_expired')
    await page.getByRole('checkbox', { name: 'Select gone-0' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Replay all matching' }).click()
    await dialog.getByText('old: it is off').waitFor()
    // without the destination that is off
    await dialog.getByText('Replays 2 dead letters to crm, search').waitFor()
    await expectAccessible(page, { where: '[role=dialog]' })
    await dialog.getByRole('button', { name: 'Replay' }).click()
    await until(() => again('dead-3')() === 1 && again('dead-4')() === 1)
    await page.reload()
    await page.getByText('Replayed: delivered').filter({ visible: true }).first().waitFor()
    expect(['dead-0', 'dead-1', 'dead-5'].map((id) => again(id)())).toEqual([1, 1, 0])

    const replayed = page.getByRole('combobox', { name: 'Replayed' })
    await replayed.selectOption('Not yet')
    await page.getByRole('button', { name: 'Details of gone-3' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Details of gone-5' }).waitFor()
    await page.getByRole('textbox', { name: 'Event' }).fill('Lost 4')
    await page.keyboard.press('Enter')
    await page.getByText('No dead letter matches the filter').waitFor()
    await replayed.selectOption('All')
    await page.getByRole('button', { name: 'Details of gone-4' }).waitFor()
    await page.getByRole('textbox', { name: 'HTTP status' }).fill('4')
    await page.keyboard.press('Enter')
    await page.getByText('A status such as 404 or 5xx').waitFor()
    expect(new URL(page.url()).searchParams.get('status')).toBeNull()
  })

  test('lag shows each group with records, seconds and state, and the rate of calls, live', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.goto('/lag')
    for (const group of [
      /^router Accepted calls.* records?.* behind/,
      /^deliverer First attempts.* records?.* behind/,
      /^deliverer.due Retries.* records?.* behind/,
      /^deliverer.rungs Deliveries that wait.* records?.* overdue/,
    ])
      await page.getByRole('button', { name: group }).waitFor()
    await page.getByRole('button', { name: /^router/ }).click()
    await page.getByRole('row', { name: /events 0 \d/ }).waitFor()
    await page.getByRole('img', { name: /Seconds behind/ }).waitFor()
    // names what control cannot count
    await page.getByText('sluice_ingest_requests_total').waitFor()
    const rate = page.getByText('Calls/s', { exact: true }).locator('..')
    await until(async () => {
      await on().sluice.send([{ type: 'track', userId: 'u2', event: 'Now' }])
      return /[1-9]/.test((await rate.innerText()).replace('Calls/s', ''))
    })
    await shoot(page, 'lag')
  })

  test('an outage of Kafka or control is reported, with the last known data, until it is over', async () => {
    const { sluice } = on()
    const { page } = await on().come({ isNew: true })
    await page.goto('/')
    await page.getByRole('row', { name: /crm/ }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await sluice.kill('control')
    const banner = page.getByRole('alert').filter({ hasText: 'The state of Sluice is unknown' })
    await banner.getByText(/Sluice is not responding.*It last answered at/).waitFor()
    await page.getByRole('row', { name: /crm/ }).waitFor()
    await sluice.start('control')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('alert').first().waitFor({ state: 'detached' })

    const away = 'event: unavailable\ndata: {"event":"health"}\n\n'
    const told = { contentType: 'text/event-stream', body: away }
    await page.route('**/api/health/stream', (route) => route.fulfill(told))
    await page.reload()
    await page.getByText('Kafka is not responding').waitFor()
    await expectAccessible(page)
  })

  test('every page says what is wrong, since when, what to do, and where to look', async () => {
    const problem = (fields: object) => ({
      code: 'group_stalled',
      severity: 'error',
      message: 'Consumer group router makes no progress in any of its partitions: 135 records wait.',
      action: 'Read the log of the router.',
      since: new Date(Date.now() - 90_000).toISOString(),
      page: '/lag',
      runbook: 'ops/runbook.md#sluicenothingconsumes',
      group: 'router',
      setting: null,
      ...fields,
    })
    const unreadable = (id: string) =>
      problem({
        ...{
          code: 'setting_unreadable',
          severity: 'warning',
          message: `The settings of ${id} cannot be read.`,
        },
        ...{ page: '/destinations', group: null, setting: { kind: 'destination', id, isKept: true } },
      })
    const told = {
      state: 'error',
      at: null,
      problems: [problem({}), ...['a', 'b', 'c', 'd'].map(unreadable)],
    }
    const { page } = await on().come({ isNew: true })
    await page.route('**/api/status', (route) => route.fulfill({ json: told }))
    const banner = page.getByRole('alert').filter({ hasText: 'a process makes no progress' })
    const paths = ['/', '/sources', '/destinations/crm', '/destinations/crm/settings', '/catalog/webhooks']
    for (const path of [...paths, '/deliveries', '/dead', '/audiences', '/traits', '/catalog']) {
      await page.goto(path)
      await banner.getByText(/135 records wait\. Since .*Read the log of the router\./).waitFor()
    }
    // this system's settings
    await page.getByText('retried for up to 3 hours').waitFor()
    await page.getByRole('button', { name: 'Show 2 more problems' }).click()
    await page.getByText('The settings of d cannot be read.').waitFor()
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await expectAccessible(page)
      await shoot(page, `problems-${colorScheme}`)
    }
    await banner.getByRole('link', { name: 'Show lag' }).click()
    await page.getByRole('heading', { name: 'Lag', level: 1 }).waitFor()
    expect(await banner.getByRole('link').count()).toBe(0)
    await page.setViewportSize({ width: 375, height: 800 })
    await shoot(page, 'problems-phone')
    await page.unroute('**/api/status')
    await banner.waitFor({ state: 'detached' })
  })

  test('a missing chunk, as after an upgrade, shows an error from which a reload recovers', async () => {
    const { page } = await on().come({ isNew: true, reports: /dynamically imported|preload|Boundary/ })
    await page.goto('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    let asked = 0
    await page.route('**/assets/lag-*.js', (route) => {
      asked += 1
      return route.fulfill({ status: 404 })
    })
    await page.getByRole('link', { name: 'Lag' }).click()
    // one automatic reload
    await until(() => asked === 2)
    await page.getByText('This page could not be loaded').waitFor()
    await page.getByRole('link', { name: 'Catalog' }).click()
    await page.getByRole('heading', { name: 'Catalog' }).waitFor()
    await page.goBack()
    await page.unroute('**/assets/lag-*.js')
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Lag' }).waitFor()
  })
}

const SPARKLINE_COLORS = `Object.fromEntries(['delivered', 'failed'].map((name) =>
  [name, getComputedStyle(document.querySelector('.sparkline .' + name)).fill]))`

/** By name: the figure of the overview's card, the sum of the chart's column, and the sum of the destinations. */
const COUNTS = `(() => {
  const number = (text) => Number(text.replaceAll(/[^\\d]/g, ''))
  const column = (table, name) => {
    const place = [...table.querySelectorAll('th')].findIndex((th) => th.textContent === name)
    const cells = [...table.querySelectorAll('tbody tr')].map((row) => row.children[place].textContent)
    return cells.reduce((sum, text) => sum + number(text), 0)
  }
  const chart = (name) => document.querySelector('table[aria-label^="' + name + ' by"]')
  const list = document.querySelector('section[aria-label="Destinations"] table')
  const cards = [...document.querySelectorAll('.figure')].map((card) => [...card.children].map((one) => one.textContent))
  return Object.fromEntries(cards
    .filter(([name]) => !name.startsWith('Latency'))
    .map(([name, value]) => {
      const isCall = name.startsWith('Calls')
      const inChart = name === 'Calls accepted' ? 'Accepted' : name === 'Calls rejected' ? 'Rejected' : name
      return [name, [
        number(value),
        column(chart(isCall ? 'Calls' : 'Deliveries'), inChart),
        isCall ? number(value) : column(list, name),
      ]]
    }))
})()`

const TALL_LABELS = `[...document.querySelectorAll('.figure > :first-child')]
  .filter((label) => label.getBoundingClientRect().height > 24).map((label) => label.textContent)`
