import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { CATALOG } from '../../../rules/catalog.ts'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import type { Stage } from './stage.ts'
import { settle, shoot } from './visit.ts'

const SOURCE = { id: 'store', name: 'Store', writeKey: 'store-write-key' }
const RULES = {
  filter: {
    all: [
      { path: 'event', in: ['Paid'] },
      { path: 'properties.total', gte: 10 },
    ],
  },
  redact: [{ path: 'context.ip', as: 'drop' }],
  shape: { amount: '{{properties.total}}', context: '{{context}}' },
}
const PATH = '/destinations/partner/rules'

export function writeRules(on: () => Stage): void {
  const paid = (messageId: string, total: number) => ({
    ...{ type: 'track', messageId, userId: 'kim', event: 'Paid', properties: { total } },
    context: { ip: '203.0.113.9' },
  })

  beforeAll(async () => {
    const { sluice, good } = on()
    await sluice.api('post', 'sources', SOURCE)
    await sluice.destination('partner', [`${good.url}/partner`], { sourceIds: ['store'] })
    await sluice.send(
      [
        paid('paid-5', 5),
        paid('paid-50', 50),
        { type: 'track', messageId: 'viewed', userId: 'kim', event: 'Viewed' },
        { type: 'identify', messageId: 'kim', userId: 'kim', traits: { email: 'kim@example.com' } },
      ],
      SOURCE.writeKey,
    )
    await until(() => arrived().length === 4)
  })

  const arrived = () => on().good.arrivals.filter(({ path }) => path === '/partner')
  const stored = async () => (await on().sluice.api('get', 'destinations/partner')).body
  const preview = (page: Page) => page.getByRole('region', { name: 'Preview' })

  /** Saves rules as another user would. */
  async function save(rules: object | undefined) {
    const { version, rules: _, ...partner } = await stored()
    const match = { 'if-match': `"${version}"` }
    await on().sluice.api('put', 'destinations/partner', { ...partner, ...(rules && { rules }) }, match)
  }

  test('a form writes them, and the preview follows while the user types', async () => {
    const { page } = await on().come()
    await page.goto(PATH)
    await preview(page).getByText('Sends 4 of 4 events.').waitFor()
    // the first click in a form counts
    await page.getByRole('checkbox', { name: 'Paid' }).check()
    await preview(page).getByText('Sends 2 of 4 events: 2 filtered.').waitFor()
    await preview(page).getByText('It does not meet: event is “Paid”').first().waitFor()
    await page.getByRole('button', { name: 'Add condition' }).click()
    await page.getByRole('combobox', { name: 'Path of condition 1' }).fill('properties.total')
    await page.getByRole('combobox', { name: 'Operator of condition 1' }).selectOption('is at least')
    await page.getByRole('textbox', { name: 'Value of condition 1' }).fill('10')
    await preview(page).getByText('Sends 1 of 4 events: 3 filtered.').waitFor()
    await page.getByRole('button', { name: 'Add field' }).click()
    await page.getByRole('combobox', { name: 'Path of redaction 1' }).fill('context.')
    await page.getByText(/^context\.: is invalid/).waitFor()
    await preview(page).getByText('Correct the marked fields to continue the preview.').waitFor()
    await page.getByRole('combobox', { name: 'Path of redaction 1' }).fill('context.ip')
    await page.getByRole('combobox', { name: 'Send' }).selectOption('Custom JSON')
    await page.getByRole('textbox', { name: 'Body as JSON' }).fill(JSON.stringify(RULES.shape))
    await preview(page).getByText('"amount": 50').waitFor()
    expect(await preview(page).innerText()).not.toContain('203.0.113.9')
    await expectAccessible(page)
    await shoot(page, 'rules')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await stored()).rules).toEqual(RULES)
  })

  test('notices for Slack need no custom JSON, and the form shows the chosen body by its name', async () => {
    await save(undefined)
    const { page } = await on().come()
    await page.goto(PATH)
    const body = page.getByRole('combobox', { name: 'Send' })
    await body.selectOption('Slack (notices)')
    // the newest event is open
    await preview(page)
      .getByText(/"text": "(Paid|Viewed|identify)"/)
      .waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    await page.reload()
    await body.waitFor()
    expect(await body.inputValue()).toBe('slack-notices')
    const shape = CATALOG.find(({ id }) => id === 'slack-notices')?.shape
    expect((await stored()).rules).toEqual({ shape })
  })

  test('the event search names the condition that filtered an event out', async () => {
    await save(RULES)
    const { page } = await on().come()
    await page.goto('/deliveries?messageId=viewed')
    await page.getByText('The destination’s rules filter this event out.').waitFor()
    await page.getByText('It does not meet: event is “Paid”').waitFor()
  })

  test('a test says that the rules would not send a real event like it', async () => {
    await save(RULES)
    const { page } = await on().come()
    await page.goto('/destinations/partner/test')
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('status 200').waitFor()
    await page.getByText(/Only tests ignore filter and sample\. It does not meet: event is “Paid”/).waitFor()
  })

  test('a replay says which rules apply', async () => {
    await save(RULES)
    const { page } = await on().come()
    await page.goto('/destinations/partner/deliveries')
    await page.getByRole('button', { name: 'Resend all matching' }).click()
    await page.getByRole('dialog').getByText('Bodies are sent as they were stored').waitFor()
    await page.keyboard.press('Escape')
  })

  test('the preview sends one request at a time and drops outdated answers', async () => {
    await save(RULES)
    const { page } = await on().come()
    const asked: { value: unknown; answer: () => void }[] = []
    let [open, most] = [0, 0]
    await page.route('**/api/destinations/preview', (route) => {
      most = Math.max(most, ++open)
      const { filter } = route.request().postDataJSON().rules
      const items = [{ ...ITEM, outcome: 'filtered', condition: '/filter/all/1' }]
      const answer = () => {
        open--
        void route.fulfill({ json: { items, searchedSince: null } })
      }
      asked.push({ value: filter.all[1].gte, answer })
    })
    await page.goto(PATH)
    await until(() => asked.length === 1)
    asked[0]?.answer()
    await preview(page).getByText('It does not meet: properties.total is at least 10').waitFor()
    const value = page.getByRole('textbox', { name: 'Value of condition 1' })
    await value.fill('20')
    await until(() => asked.length === 2)
    await value.fill('40')
    asked[1]?.answer()
    await until(() => asked.length === 3)
    expect([asked.map(({ value }) => value), most]).toEqual([[10, 20, 40], 1])
    // the answer for 20 has arrived but is not shown
    await preview(page).getByText('is at least 10').waitFor()
    asked[2]?.answer()
    await preview(page).getByText('It does not meet: properties.total is at least 40').waitFor()
  })

  test('the keyboard suffices: Enter adds a name, and removing a row keeps the focus nearby', async () => {
    await save({ filter: { path: 'userId', exists: true } })
    const { page } = await on().come()
    await page.goto(PATH)
    const name = page.getByRole('textbox', { name: 'Another event name' })
    await name.press('Tab')
    await name.fill('Later')
    await name.press('Enter')
    await page.getByRole('checkbox', { name: 'Later', checked: true }).waitFor()
    await page.getByRole('button', { name: 'Remove condition 1' }).press('Enter')
    await until(async () => (await page.evaluate('document.activeElement.textContent')) === 'Add condition')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText('Enter a path, such as properties.total').waitFor()
    await page.getByRole('button', { name: 'Remove condition 1' }).press('Enter')
    await page.getByRole('button', { name: 'Save' }).press('Enter')
    await page.getByText('Saved', { exact: true }).waitFor()
    expect((await stored()).rules).toEqual({ filter: { path: 'event', in: ['Later'] } })
  })

  test('a name that is not added yet is saved: the click on “Save” is not lost', async () => {
    await save({ filter: { path: 'userId', exists: true } })
    const { page } = await on().come()
    await page.goto(PATH)
    const name = page.getByRole('textbox', { name: 'Another event name' })
    for (const [text, names] of [
      ['Pressed', ['Pressed']],
      ['Once more', ['Pressed', 'Once more']],
    ] as const) {
      await name.fill(text)
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved', { exact: true }).waitFor()
      const { filter } = (await stored()).rules as { filter: { all: unknown[] } }
      expect(filter.all[0]).toEqual({ path: 'event', in: names })
      await page.reload()
    }
    await name.fill('Added')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('checkbox', { name: 'Added', checked: true }).waitFor()
    expect(await page.getByRole('checkbox', { name: 'Added' }).count()).toBe(1)
    expect(await name.inputValue()).toBe('')
  })

  test('rules that the form cannot show are JSON, with every fault in its place', async () => {
    const rules = { filter: { not: { path: 'event', startsWith: 'Test' } } }
    await save(rules)
    const { page } = await on().come()
    await page.goto(PATH)
    await page.getByText('Sends an event if not (event starts with “Test”).').waitFor()
    await page.getByText('JSON', { exact: true }).click()
    const json = page.getByRole('textbox', { name: 'Rules as JSON' })
    expect(JSON.parse(await json.inputValue())).toEqual(rules)
    await json.fill('{"filter": ')
    await page.getByText('This is not JSON').waitFor()
    await json.fill('{"filter": {"not": {"path": "evnt", "eq": 1}}, "redact": [{"path": "a", "as": "drop"}]}')
    await page.getByRole('button', { name: 'Save' }).click()
    const alert = page.getByRole('alert')
    await alert.getByText('rules filter not path:').first().waitFor()
    await alert.getByText('rules redact 1 path:').first().waitFor()
    await json.fill('')
    await preview(page)
      .getByText(/Sends (\d+) of \1 events\./)
      .waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(await stored()).not.toHaveProperty('rules')
    // it stays JSON
    expect(await json.inputValue()).toBe('')
  })

  test('they fit on a phone, in dark mode', async () => {
    await save({
      filter: {
        all: [
          { path: 'event', in: ['Paid'] },
          { path: 'properties.total', in: [5, '5'] },
        ],
      },
      sample: { rate: 0.5, by: 'event' },
      redact: [{ path: 'traits.email', as: 'hash' }],
      shape: { text: '{{event}}' },
    })
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 400, height: 850 })
    await page.goto(PATH)
    await preview(page)
      .getByText(/^Sends \d+ of/)
      .waitFor()
    await settle(page)
    await expectAccessible(page, { where: 'main' })
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    expect(await page.getByRole('textbox', { name: 'Value of condition 1' }).inputValue()).toBe('5\n"5"')
    await shoot(page, 'rules-phone')
  })
}

const ITEM = {
  ...{ messageId: 'm', sourceId: 'store', type: 'track', event: 'Paid', body: null, message: null },
  receivedAt: '2026-01-02T03:04:05.678Z',
}
