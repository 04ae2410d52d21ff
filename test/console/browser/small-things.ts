import { afterAll, beforeAll, expect, test } from 'vitest'
import { toLocalInput } from '../../../console/src/wording/format.ts'
import { until } from '../../helpers/until.ts'
import { violationsIn } from './axe.ts'
import { writeDeadLetters } from './dead-letters.ts'
import type { Stage } from './stage.ts'
import { move, shoot } from './visit.ts'

export function smallThings(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good } = on()
    await sluice.api('post', 'sources', { id: 'corner', name: 'Corner shop', writeKey: 'corner-write-key' })
    await sluice.api('post', 'audiences', { id: 'regulars', name: 'Regulars', sourceId: 'corner' })
    await sluice.destination('small', [`${good.url}/one`, `${good.url}/two`], {
      name: 'Small',
      sourceIds: ['corner'],
    })
    await sluice.send(
      [{ type: 'track', userId: 'sue', event: 'Small', messageId: 'small-1' }],
      'corner-write-key',
    )
    await until(() => good.arrivals.some(({ path }) => path === '/two'))
  })

  // later tests begin without an audience
  afterAll(async () => {
    await on().sluice.api('delete', 'audiences/regulars')
  })

  /** Saved, but not turned on. */
  const unfinished = (id: string) =>
    on().sluice.destination(id, [`${on().good.url}/${id}`], { enabled: false, sourceIds: ['corner'] })

  test('a webhook that rejects links to its dead letters, which can be shown and replayed for any period', async () => {
    const { sluice, good } = on()
    await sluice.destination('expired', [`${good.url}/status/401`], {
      sourceIds: ['corner'],
      name: 'Expired',
    })
    const call = { type: 'track', userId: 'sue', event: 'Expired', messageId: 'expired-1' }
    await sluice.send([call], 'corner-write-key')
    const { page } = await on().come()
    await page.goto('/destinations/expired')
    await page.getByText('Rejecting: 401').waitFor()
    await page.getByRole('link', { name: 'dead letters of Expired' }).click()
    const row = page.getByRole('button', { name: 'Details of expired-1' })
    await row.waitFor()
    expect(new URL(page.url()).search).toBe('?destinationId=expired')

    await page.getByRole('combobox', { name: 'Period' }).selectOption('Custom')
    const start = Date.now()
    const local = (daysAgo: number) => toLocalInput(new Date(start - daysAgo * 86_400_000).toISOString())
    // the browser's clock is that of Berlin, less than a day away
    await page.getByLabel('From', { exact: true }).fill(local(4))
    await page.getByLabel('To', { exact: true }).fill(local(2))
    await page.keyboard.press('Enter')
    await page.getByText('No dead letter matches the filter').waitFor()
    await page.getByLabel('To', { exact: true }).fill('')
    await page.keyboard.press('Enter')
    await row.waitFor()
    // as a shared link
    await page.reload()
    await row.waitFor()
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe(local(4))
    await page.getByRole('button', { name: 'Replay all matching' }).click()
    await page.getByRole('dialog').getByText('Replays 1 dead letter to Expired').waitFor()
    await page
      .getByRole('dialog')
      .getByText(/Only those since .+\./)
      .waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('From', { exact: true }).waitFor({ state: 'detached' })
    // as on a phone, or at a zoom of 400 %
    await page.setViewportSize({ width: 320, height: 800 })
    await row.waitFor()
    await until(() => page.evaluate<boolean>(FITS))
    await sluice.api('delete', 'destinations/expired')
  })

  test('“Clear” also clears a status that the filter refuses', async () => {
    const { page } = await on().come()
    const status = page.getByRole('textbox', { name: 'HTTP status' })
    for (const [path, filter] of [
      ['/dead?replayed=false', 'Replayed'],
      ['/destinations/small/deliveries?state=dead', 'State'],
    ] as const) {
      await page.goto(path)
      await status.fill('never')
      await status.press('Enter')
      await page.getByText('A status such as 404 or 5xx').waitFor()
      await page.getByRole('button', { name: 'Clear' }).click()
      await until(async () => (await page.getByRole('combobox', { name: filter }).inputValue()) === '')
      expect(await status.inputValue()).toBe('')
      expect(await page.getByText('A status such as 404 or 5xx').count()).toBe(0)
    }
  })

  test('a year of five digits does not break a filter', async () => {
    const { page } = await on().come()
    await page.goto('/dead?since=2026-01-01T00:00:00.000Z')
    const from = page.getByLabel('From', { exact: true })
    await from.fill('20261-01-01T00:00')
    await from.press('Enter')
    await until(async () => new URL(page.url()).search === '')
  })

  test('a search keeps the time of its link, even in an hour that occurs twice', async () => {
    const { page } = await on().come()
    // 2:30 in Berlin, after the clocks were set back
    const around = '2026-10-25T01:30:45.000Z'
    await page.goto(`/deliveries?messageId=small-1&around=${around}`)
    await page.getByText('No such event').waitFor()
    await page.getByRole('textbox', { name: 'Message ID' }).fill('small-2')
    await page.getByRole('button', { name: 'Search' }).click()
    await until(async () => new URL(page.url()).searchParams.get('messageId') === 'small-2')
    expect(new URL(page.url()).searchParams.get('around')).toBe(around)
  })

  test('an event with many destinations shows a hundred of them, and a filter finds the others', async () => {
    const { page } = await on().come()
    const destinations = Array.from({ length: 120 }, (_, index) => ({
      ...{ destinationId: `many-${index}`, deliveryId: `d${index}`, state: 'delivered', attempts: [] },
      ...{ routed: true, reason: null, condition: null, nextAttemptAt: null, dead: null },
    }))
    const event = {
      ...{ messageId: 'many', sourceId: 'corner', type: 'track', userId: 'sue', anonymousId: null },
      ...{ event: 'Many', name: null, receivedAt: new Date().toISOString(), call: {}, rejected: null },
      destinations,
    }
    const json = { items: [event], next: null, searchedSince: null, faults: [] }
    await page.route('**/api/events?*', (route) => route.fulfill({ json }))
    await page.goto('/deliveries?messageId=many')
    const shown = page.getByText(/^many-\d+$/)
    await until(async () => (await shown.count()) === 100)
    await page.getByRole('searchbox', { name: 'Filter destinations' }).fill('many-119')
    await until(async () => (await shown.allInnerTexts()).join() === 'many-119')
  })

  test('two clicks on “Create source” at once make one source', async () => {
    const { page } = await on().come()
    await page.goto('/sources')
    await page.getByRole('button', { name: 'New source' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Twice')
    const create = page.getByRole('button', { name: 'Create source' })
    // as a busy page gets two clicks
    await create.evaluate((button) => {
      for (let times = 0; times < 2; times++) setTimeout(() => Reflect.get(button, 'click').call(button))
    })
    await page.getByRole('heading', { level: 1, name: 'Twice' }).waitFor()
    const { items } = (await on().sluice.api('get', 'sources')).body
    const made = (items as { id: string; name: string }[]).filter(({ name }) => name === 'Twice')
    expect(made).toHaveLength(1)
    await on().sluice.api('delete', `sources/${made[0]?.id}`)
  })

  test('a long name fits in the list of sources, in a title beside the close button, and on a button', async () => {
    const { sluice } = on()
    const name = 'X'.repeat(200)
    const named = { id: 'wide', name, writeKey: 'wide-write-key' }
    expect((await sluice.api('post', 'sources', named)).status).toBe(201)
    const { page } = await on().come()
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 })
      for (const path of ['/destinations/small/settings', '/catalog/webhooks', '/sources/wide/settings']) {
        await page.goto(path)
        await page.getByText(name).first().waitFor({ state: 'attached' })
        await until(() => page.evaluate<boolean>(FITS))
      }
    }
    await page.getByRole('button', { name: 'Replace write key' }).click()
    const close = page.getByRole('dialog').getByRole('button', { name: 'Close' })
    const { x = 320, width = 0 } = (await close.boundingBox()) ?? {}
    expect(x + width).toBeLessThan(320)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Delete source' }).click()
    const label = page.getByRole('button', { name: `Delete ${name}` }).locator('.mantine-Button-label')
    expect(await label.evaluate(cutOff)).toBe(0)
    await page.keyboard.press('Escape')
    await page.goto('/audit')
    expect(await page.getByText('created', { exact: true }).first().evaluate(cutOff)).toBe(0)
    await sluice.api('delete', 'sources/wide')
  })

  test('a long id fits a screen of 320 px', async () => {
    const { sluice, good } = on()
    const id = 'x'.repeat(64)
    await sluice.destination(id, [`${good.url}/long`], { sourceIds: ['corner'] })
    await until(async () => {
      await sluice.send(
        [{ type: 'track', userId: 'sue', event: 'Long', messageId: 'long-1' }],
        'corner-write-key',
      )
      return good.arrivals.some(({ path }) => path === '/long')
    })
    await sluice.api('delete', `destinations/${id}`)
    const { page } = await on().come()
    await page.setViewportSize({ width: 320, height: 800 })
    await page.goto('/deliveries?messageId=long-1')
    await page.getByText(id).first().waitFor()
    await until(() => page.evaluate<boolean>(FITS))
  })

  test('the address of an unknown destination or source has a page that links to the list', async () => {
    const { page } = await on().come()
    for (const what of ['destination', 'source']) {
      await page.goto(`/${what}s/unknown`)
      await page.getByRole('heading', { level: 1, name: `No such ${what}` }).waitFor()
      expect(await page.title()).toBe(`No such ${what} - Sluice`)
      expect(await violationsIn(page)).toEqual([])
      await page.getByRole('link', { name: `Go to ${what}s` }).click()
      await page.getByRole('heading', { level: 1, name: `${what}s` }).waitFor()
    }
    await page.goto('/catalog/webhooks/unknown')
    await page.getByText('This destination does not exist').waitFor()
  })

  test('a name cannot reverse the text on the page', async () => {
    const { sluice } = on()
    await sluice.api('post', 'sources', {
      id: 'reversed',
      name: 'Kiosk \u202egnp',
      writeKey: 'reversed-write-key',
    })
    const { page } = await on().come()
    await page.goto('/sources')
    await page.getByRole('link', { name: 'Kiosk \\u202egnp', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Kiosk \\u202egnp' }).waitFor()
    await sluice.destination('reversed', [`${on().good.url}/reversed`], {
      name: 'Desk \u202egnp',
      sourceIds: ['reversed'],
      enabled: false,
    })
    const tabs = ['health', 'deliveries', 'settings', 'rules', 'test', 'secret', 'replay']
    const shown = [...tabs.map((tab) => `/destinations/reversed/${tab}`), '/catalog/webhooks/reversed']
    for (const path of [...shown, '/deliveries', '/dead?replayed=false', '/']) {
      await move(page, path)
      await page.getByText('gnp').first().waitFor({ state: 'attached' })
      expect(await page.evaluate('document.documentElement.textContent'), path).not.toContain('\u202e')
    }
    await page.goto('/audiences')
    await page.getByRole('button', { name: 'New audience' }).click()
    await page.getByRole('dialog').getByText('gnp').waitFor({ state: 'attached' })
    expect(await page.evaluate('document.documentElement.textContent')).not.toContain('\u202e')
    await sluice.api('delete', 'destinations/reversed')
    await sluice.api('delete', 'sources/reversed')
  })

  test('a fault disappears once its field is corrected', async () => {
    const { page } = await on().come()
    const isGone = async (fault: string, correct: () => Promise<void>) => {
      await page.getByText(fault).waitFor()
      await correct()
      await page.getByText(fault).waitFor({ state: 'detached' })
      expect(await page.getByText('Some fields need attention').count()).toBe(0)
    }
    await page.goto('/catalog/webhooks')
    await page.getByRole('checkbox', { name: /Corner shop/ }).check()
    await page.getByRole('button', { name: 'Next: URLs' }).click()
    const url = page.getByRole('textbox', { name: 'URL 1', exact: true })
    await url.fill('ftp://crm.example')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    // the form finds it itself
    await isGone('Enter a full URL', () => url.fill('https://crm.example/'))
    await page.getByRole('button', { name: 'Add header' }).click()
    const header = page.getByRole('textbox', { name: 'Name of header 1 of URL 1' })
    await header.fill('X-Signature')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByRole('button', { name: 'Save without a secret' }).click()
    // the server finds it
    await isGone('this header is set by Sluice', () => header.fill('X-Team'))

    await page.goto('/destinations/small/settings')
    const name = page.getByRole('textbox', { name: 'Name', exact: true })
    await name.fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await isGone('must not be empty', () => name.fill('Small'))

    await move(page, '/sources')
    await page.getByRole('button', { name: 'New source' }).click()
    await page.getByRole('button', { name: 'Create source' }).click()
    await isGone('must not be empty', () => page.getByRole('textbox', { name: 'Name' }).fill('Kiosk'))
  })

  test('the write key and the snippets stay after the first event', async () => {
    await unfinished('first')
    const { page } = await on().come()
    await page.goto('/catalog/webhooks/first')
    await page.getByRole('button', { name: 'Next: turn on' }).click()
    await page.getByRole('switch', { name: 'Turn first on' }).click()
    await until(async () => {
      await page.getByRole('button', { name: 'Send test call' }).click()
      return page.getByText('The first event has arrived').isVisible()
    })
    expect(await page.getByText('corner-write-key').first().isVisible()).toBe(true)
    expect(await page.getByRole('button', { name: 'Copy curl snippet' }).isVisible()).toBe(true)
    await shoot(page, 'set-up-after-first-event')
  })

  test('every step of the setup after the first leads back', async () => {
    await unfinished('backwards')
    const { page } = await on().come()
    await page.goto('/catalog/webhooks/backwards')
    await page.getByRole('button', { name: 'Next: turn on' }).click()
    for (const step of ['Test', 'Secret', 'URLs', 'Sources']) {
      await page.getByRole('button', { name: 'Back', exact: true }).click()
      await page.getByRole('group', { name: `Step: ${step}` }).waitFor()
    }
  })

  test('after a break, live calls show where calls may be missing, and how to find them', async () => {
    const { page } = await on().come()
    const call = (number: number) =>
      `id: ${number}\nevent: call\ndata: ${JSON.stringify({
        ...{ messageId: `live-${number}`, type: 'track', userId: 'sue', event: `Live ${number}` },
        ...{ receivedAt: `2026-01-02T03:04:0${number}.000Z`, timestamp: `2026-01-02T03:04:0${number}.000Z` },
      })}\n\n`
    const stream = (...numbers: number[]) => ({
      contentType: 'text/event-stream',
      // the stream ends, as if control restarted
      body: `${numbers.map(call).join('')}event: ready\ndata: {"calls":${numbers.length}}\n\n`,
    })
    const streams = [stream(1, 2), stream(2, 3), stream(5, 6)]
    await page.route('**/api/sources/corner/live', (route) => {
      const next = streams.shift()
      return next ? route.fulfill(next) : route.fulfill(stream(5, 6))
    })
    await page.goto('/sources/corner')
    const list = page.getByRole('list', { name: 'Calls, newest first' })
    await list.getByText('Calls may be missing here').waitFor()
    await list.getByText('Live 6').waitFor()
    // the time of another day, with its date
    const first = list.getByRole('listitem').first()
    const [time, state] = [
      await first.locator('time').boundingBox(),
      await first.getByText('Accepted').boundingBox(),
    ]
    expect((time?.x ?? 0) + (time?.width ?? 0)).toBeLessThan(state?.x ?? 0)
    const rows = await list.getByRole('listitem').allInnerTexts()
    const shown = rows.map((text) => /Live \d|Calls may be missing/.exec(text)?.[0])
    expect(shown).toEqual(['Live 6', 'Live 5', 'Calls may be missing', 'Live 3', 'Live 2', 'Live 1'])
    await list
      .getByText(
        'sluice events find --source corner --since 2026-01-02T03:04:03.000Z --until 2026-01-02T03:04:15.000Z',
      )
      .waitFor()
    expect(await violationsIn(page)).toEqual([])
    await shoot(page, 'live-missed')
  })

  test('a destination that is off has the same link, whether new or created again', async () => {
    await unfinished('again')
    await on().sluice.api('delete', 'destinations/again')
    await unfinished('again')
    await unfinished('fresh')
    const { page } = await on().come()
    await page.goto('/destinations')
    for (const name of ['again', 'fresh']) {
      await page.getByRole('link', { name: `Test and turn on: ${name}` }).click()
      await page.getByRole('button', { name: 'Send test' }).waitFor()
      await page.goBack()
    }
    for (const id of ['again', 'fresh']) await on().sluice.api('delete', `destinations/${id}`)
  })

  test('older attempts show their URL unless that URL was changed', async () => {
    const { sluice, good } = on()
    const { version, ...small } = (await sluice.api('get', 'destinations/small')).body
    const renamed = { ...small, name: 'Smaller' }
    await sluice.api('put', 'destinations/small', renamed, { 'if-match': `"${version}"` })
    const { page } = await on().come()
    await page.goto('/deliveries?messageId=small-1')
    const article = page.getByRole('article')
    await article.getByText(`${good.url}/two`).waitFor()
    const webhooks = [{ url: `${good.url}/one` }, { url: `${good.url}/other` }]
    await sluice.api(
      'put',
      'destinations/small',
      { ...renamed, webhooks },
      { 'if-match': `"${Number(version) + 1}"` },
    )
    await page.reload()
    await article.getByText(`${good.url}/one`).waitFor()
    await article.getByText('URL 2, since changed').waitFor()
    await shoot(page, 'attempts-before-change')
  })

  test('one state has one color', async () => {
    const { page } = await on().come()
    const colorOf = (label: string) =>
      page.getByText(label, { exact: true }).first().evaluate(backgroundOfParent)
    await page.goto('/deliveries?messageId=small-1')
    await page.getByText('Delivered', { exact: true }).first().waitFor()
    expect(await colorOf('Accepted')).toBe(await colorOf('Delivered'))
    // off, in the list and in its own setup
    await unfinished('colorful')
    const alertColor = (text: RegExp) =>
      page.locator('[role=alert], .mantine-Alert-root').filter({ hasText: text }).first().evaluate(background)
    await move(page, '/catalog/webhooks')
    await page.getByText(/destinations? (is|are) off/).waitFor()
    const inList = await alertColor(/destinations? (is|are) off/)
    await move(page, '/catalog/webhooks/colorful')
    await page.getByText(/is saved but still off/).waitFor()
    expect(await alertColor(/is saved but still off/)).toBe(inList)
  })

  test('a state explains itself when it is hovered or focused, until Escape', async () => {
    const { page } = await on().come()
    await page.goto('/deliveries?messageId=small-1')
    const state = page.getByText('Delivered', { exact: true }).first()
    const explanation = page.getByRole('tooltip').filter({ hasText: 'answered 2xx' })
    await state.hover()
    await explanation.waitFor()
    await page.keyboard.press('Escape')
    await explanation.waitFor({ state: 'detached' })
    const badge = page.locator('.mantine-Badge-root').filter({ has: state }).first()
    await badge.focus()
    await explanation.waitFor()
    await shoot(page, 'tooltip')
    expect(await badge.getAttribute('aria-describedby')).toBe(await explanation.getAttribute('id'))
    expect(await violationsIn(page)).toEqual([])
  })

  test('a URL never breaks inside its port', async () => {
    await on().sluice.destination('ports', [`${on().good.url}/a/path/that/is/long?and=a&longer=query`], {
      sourceIds: ['corner'],
      sharedSecret: 'a-secret',
    })
    const { page } = await on().come()
    const broken: string[] = []
    for (const path of [
      '/destinations',
      '/destinations/ports/health',
      '/destinations/ports/test',
      '/sources/corner',
    ]) {
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (path.endsWith('/test')) {
        await page.getByRole('button', { name: 'Send test' }).click()
        await page.getByText('status 200').waitFor()
      }
      for (let width = 320; width < 480; width += 8) {
        await page.setViewportSize({ width, height: 800 })
        broken.push(
          ...(await page.evaluate<string[]>(BROKEN_PORTS)).map((text) => `${path} at ${width}: ${text}`),
        )
      }
    }
    expect(broken).toEqual([])
  })

  test('on a phone, a table that is wider than the screen says so', async () => {
    const { page } = await on().come()
    await page.goto('/destinations')
    await page.getByRole('link', { name: 'ports' }).waitFor()
    const hint = () =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('main table')
      .closest('.mantine-ScrollArea-root'), '::before').content`)
    expect(await hint()).toBe('none')
    await page.setViewportSize({ width: 375, height: 800 })
    await until(async () => (await hint()).includes('Scroll'))
    await shoot(page, 'phone-table')
  })

  test('Escape closes what is open and returns the focus to what opened it', async () => {
    await writeDeadLetters(on().sluice, [
      { deliveryId: 'esc-1', messageId: 'esc-1', destinationId: 'small', deadReason: 'window_expired' },
    ])
    const { page } = await on().come()
    const lost: string[] = []
    const check = async (path: string, role: 'button' | 'switch', name: string | RegExp) => {
      await page.goto(path)
      const opener = page.getByRole(role, { name }).first()
      await opener.focus()
      await page.keyboard.press(role === 'switch' ? 'Space' : 'Enter')
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await until(() => opener.evaluate(isFocused)).catch(async () =>
        lost.push(`${path} ${name}: ${await page.evaluate<string>(FOCUSED)}`),
      )
    }
    await check('/sources', 'button', 'New source')
    await check('/audiences', 'button', 'New audience')
    await check('/audiences', 'button', /^Upload members/)
    await check('/audiences', 'button', /^Delete/)
    await check('/destinations/small', 'switch', /is on/)
    await check('/destinations/small/settings', 'button', 'Delete destination')
    await check('/destinations/small/replay', 'button', 'Replay events')
    await check('/dead', 'button', 'Replay esc-1')
    await check('/dead', 'button', 'Replay all matching')
    await page.setViewportSize({ width: 375, height: 800 })
    await page.goto('/')
    await page.getByRole('button', { name: 'Open the menu' }).press('Enter')
    await page.getByRole('link', { name: 'Destinations' }).focus()
    await page.keyboard.press('Escape')
    await page
      .getByRole('button', { name: 'Open the menu' })
      .waitFor()
      .catch(() => lost.push('the menu stays open'))
    if ((await page.evaluate<string>(FOCUSED)) !== 'Open the menu') lost.push('the menu')
    expect(lost).toEqual([])
  })
}

// these run in the page
const isFocused = (element: object): boolean => element === Reflect.get(globalThis, 'document').activeElement
const background = (element: object): string =>
  Reflect.get(globalThis, 'getComputedStyle')(element).backgroundColor
const backgroundOfParent = (element: object): string =>
  Reflect.get(globalThis, 'getComputedStyle')(Reflect.get(element, 'parentElement')).backgroundColor

/** How many pixels of its text are hidden. */
const cutOff = (element: object): number =>
  Reflect.get(element, 'scrollWidth') - Reflect.get(element, 'clientWidth')

const FITS = 'document.documentElement.scrollWidth <= innerWidth'

/** Ports of URLs that are on two lines. */
const BROKEN_PORTS = `(() => {
  const found = []
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const { 0: port, index } of node.data.matchAll(/:\\d{4,5}/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + port.length)
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
      if (tops.size > 1) found.push(node.data.slice(Math.max(0, index - 20), index + port.length))
    }
  return found
})()`

const FOCUSED = `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.slice(0, 40)`
