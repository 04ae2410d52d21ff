import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import { ADMIN, type Stage } from './stage.ts'
import { copy, move, shoot, signIn } from './visit.ts'

const signed = (body: string, secret: string) => createHmac('sha1', secret).update(body).digest('hex')

export function setUp(on: () => Stage): void {
  beforeAll(async () => {
    // an empty system
    await on().sluice.api('delete', 'sources/shop')
  })

  test('a wrong token is refused with a message, and no page shows anything without one', async () => {
    const { page } = await on().come({ as: 'nobody' })
    await page.goto('/sources')
    await page.getByRole('textbox', { name: 'Control token' }).fill('a-wrong-token-0123456789')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This token is not valid').waitFor()
    await shoot(page, 'sign-in-refused')
  })

  test('from an empty system to the first event', async () => {
    const { page } = await on().come({ as: 'nobody' })
    await signIn(page, ADMIN)
    await page.getByText('Send your first event').waitFor()
    await shoot(page, 'first-steps')
    await page.getByRole('link', { name: 'Catalog' }).click()
    await page.getByRole('link', { name: 'Set up Webhooks' }).click()

    await page.getByRole('textbox', { name: 'Source name' }).fill('Web shop')
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('Notices from Sluice')
    await page.getByText('All other calls get 403').waitFor()
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('Website')
    await page.getByRole('button', { name: 'Create source' }).click()
    await page
      .getByRole('checkbox', { name: /Web shop/ })
      .and(page.locator(':checked'))
      .waitFor()
    expect((await on().sluice.api('get', 'sources')).body.items).toMatchObject([{ kind: 'web' }])
    await page.getByRole('button', { name: 'Next: URLs' }).click()

    await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill(`${on().good.url}/hook`)
    await page.getByRole('button', { name: 'Add header' }).click()
    await page.getByRole('textbox', { name: 'Name of header 1 of URL 1' }).fill('X-Team')
    await page.getByRole('textbox', { name: 'Value of header 1 of URL 1' }).fill('crm')
    await shoot(page, 'set-up-urls')
    await page.getByRole('button', { name: 'Next: secret' }).click()

    await page.getByRole('button', { name: 'Generate' }).click()
    const secret = await page.getByRole('textbox', { name: /Shared secret/ }).inputValue()
    expect(secret.length).toBeGreaterThanOrEqual(32)
    await page.getByRole('button', { name: 'Save', exact: true }).click()

    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('status 200').waitFor()
    await expectAccessible(page)
    await shoot(page, 'set-up-test')
    await page.getByRole('button', { name: 'Next: turn on' }).click()

    // the default name is the URL's host
    await page.getByRole('switch', { name: `Turn ${new URL(on().good.url).host} on` }).click()
    await page.getByText('Waiting for the first event').waitFor()
    const command = await copy(page, 'Copy curl snippet')
    // the router applies a change within a second
    await until(async () => {
      await promisify(execFile)('sh', ['-c', command])
      return page.getByText('The first event has arrived').isVisible()
    })
    await shoot(page, 'set-up-first-event')
    await page.getByRole('link', { name: 'Finish' }).click()
    await page.getByRole('tab', { name: 'Health', selected: true }).waitFor()

    const [tested, first] = [on().good.arrivals[0], on().good.arrivals.at(-1)]
    for (const arrival of [tested, first]) {
      const signature = signed(arrival?.body ?? '', secret)
      expect(arrival?.headers).toMatchObject({ 'x-signature': signature, 'x-team': 'crm' })
    }
    expect(first?.body).toContain('Signed Up')
  })

  test('an unfinished setup continues at its next step, and changes must be saved before a test', async () => {
    const { page } = await on().come()
    const { api } = on().sluice
    const made = async () => (await api('get', 'destinations')).body.items
    const url = (path: string) => `${on().good.url}/${path}`
    await page.goto('/catalog/webhooks')
    await page.getByRole('checkbox', { name: /Web shop/ }).check()
    await page.getByRole('button', { name: 'Next: URLs' }).click()
    await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill(url('wrong'))
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Corrected')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByRole('textbox', { name: 'Shared secret (optional)' }).fill('kept-secret')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Send test' }).waitFor()
    const before = await made()

    // as after closing the page
    await page.goto('/destinations')
    const goOn = page.getByRole('link', { name: 'Test and turn on: Corrected' })
    await goOn.waitFor()
    await shoot(page, 'destinations')
    await move(page, '/catalog/webhooks')
    await page.getByText('1 destination is off').waitFor()
    await shoot(page, 'set-up-sources')
    await goOn.click()
    await page.getByRole('button', { name: 'Send test' }).waitFor()

    await page.getByRole('button', { name: /^\d? ?URLs$/ }).click()
    expect(await page.getByRole('button', { name: /^\d ?Test$/ }).isEnabled()).toBe(true)
    await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill(url('right'))
    await page.getByRole('button', { name: /^\d ?Test$/ }).click({ force: true })
    await page.getByRole('textbox', { name: 'URL 1', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByText('A secret is already stored').waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText(url('right')).waitFor()
    await page.getByText('status 200').waitFor()
    const at = (path: string) => on().good.arrivals.filter((arrival) => arrival.path === path)
    expect(at('/wrong')).toEqual([])
    expect(
      at('/right').map(({ headers, body }) => headers['x-signature'] === signed(body, 'kept-secret')),
    ).toEqual([true])
    expect(await made()).toHaveLength((before as unknown[]).length)
  })

  test('a source without a destination says so, and an event from before its destination is not called waiting', async () => {
    const { sluice, good } = on()
    await sluice.api('post', 'sources', { id: 'lone', name: 'Lone', writeKey: 'lone-write-key' })
    const calls = [{ type: 'track', userId: 'ann', event: 'Early', messageId: 'early-1' }]
    // ingest knows the source within a second
    await until(() =>
      sluice.send(calls, 'lone-write-key').then(
        () => true,
        () => false,
      ),
    )
    const { page } = await on().come()
    await page.goto('/sources/lone')
    await page.getByText('Calls of this source are not forwarded').waitFor()
    await expectAccessible(page, { where: 'main' })
    await sluice.destination('late', [`${good.url}/late`], { sourceIds: ['lone'] })
    await page.reload()
    await page.getByText('No calls yet').or(page.getByText('track “Early”')).first().waitFor()
    expect(await page.getByText('Calls of this source are not forwarded').count()).toBe(0)
    await page.goto('/deliveries?messageId=early-1')
    await page.getByText('The settings of the destination changed after the event arrived').waitFor()
    await sluice.api('delete', 'destinations/late')
    await sluice.api('delete', 'sources/lone')
  })

  test('a sixth URL and a sixth header are refused with an explanation', async () => {
    const { page } = await on().come()
    await page.goto('/catalog/webhooks')
    await page.getByRole('button', { name: 'Next: URLs' }).click()
    const add = page.getByRole('button', { name: 'Add another URL' })
    for (let count = 1; count < 5; count++) await add.click()
    expect(await page.getByRole('textbox', { name: /^URL \d$/ }).count()).toBe(5)
    await add.click()
    await page.getByText('A destination can have up to five webhooks').waitFor()
    await page.getByRole('button', { name: 'Remove URL 5' }).click()
    expect(await page.getByText('A destination can have up to five webhooks').count()).toBe(0)

    const header = page.getByRole('button', { name: 'Add header' }).first()
    for (let count = 0; count < 5; count++) await header.click()
    await header.click()
    await page.getByText('A webhook can have up to five headers').waitFor()
    await shoot(page, 'set-up-limits')
  })

  test('faults appear at their fields, and a fault that the server finds leads back to its step', async () => {
    const { page } = await on().come()
    await page.goto('/catalog/webhooks')
    await page.getByRole('button', { name: 'Next: URLs' }).click()
    const url = page.getByRole('textbox', { name: 'URL 1', exact: true })
    await url.fill('ftp://crm.example')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByText('Enter a full URL that starts with http:// or https://').waitFor()
    await url.fill('https://crm.example/')
    await page.getByRole('button', { name: 'Add header' }).click()
    await page.getByRole('textbox', { name: 'Name of header 1 of URL 1' }).fill('X-Signature')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByRole('button', { name: 'Save without a secret' }).click()
    await page.getByText('this header is set by Sluice').waitFor()
    await expectAccessible(page)
    await shoot(page, 'set-up-faults')
    const [name, value] = ['Name', 'Value'].map((what) =>
      page.getByRole('textbox', { name: `${what} of header 1 of URL 1` }),
    )
    await name?.fill('X-Team')
    await value?.fill('café')
    await page.getByRole('button', { name: 'Next: secret' }).click()
    await page.getByRole('button', { name: 'Save without a secret' }).click()
    await page.getByText('printable ASCII only').waitFor()
    expect(await name?.getAttribute('aria-invalid')).not.toBe('true')
    expect(await value?.getAttribute('aria-invalid')).toBe('true')
  })

  test('a new source shows its calls live, with errors and results', async () => {
    const { page } = await on().come()
    await describeSource(page, 'iOS app', 'Mobile app')
    await page.getByRole('button', { name: 'Create source' }).click()
    await page.getByRole('heading', { name: 'iOS app' }).waitFor()
    expect((await on().sluice.api('get', 'sources')).body.items).toContainEqual(
      expect.objectContaining({ name: 'iOS app', kind: 'mobile' }),
    )
    await page.getByText('No calls yet').waitFor()
    const writeKey = await copy(page, 'Copy write key of iOS app')
    await page.getByRole('tab', { name: 'Go' }).click()
    await page.getByText(`analytics.New("${writeKey}")`).waitFor()

    await page.getByRole('button', { name: 'Send test call' }).click()
    await page.getByText('track “Test Event”').waitFor()
    await fetch(`${on().sluice.ingest}/v1/track`, {
      method: 'POST',
      body: JSON.stringify({ writeKey, event: 'Of nobody' }),
    })
    await page.getByText('Rejected', { exact: true }).last().waitFor()
    await page.getByRole('button', { name: /A call needs userId or anonymousId/ }).click()
    await page.getByText('Of nobody').waitFor()
    await shoot(page, 'source-live')
  })

  test('a source of kind notices says that Sluice sends its calls, and shows no write key', async () => {
    const { page } = await on().come()
    await describeSource(page, 'Alarms', 'Notices from Sluice')
    await page.getByText('All other calls get 403').waitFor()
    expect(await page.getByRole('textbox', { name: 'Workspace' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Create source' }).click()
    await page.getByRole('heading', { name: 'Notices from Sluice' }).waitFor()
    await page.getByText('No calls yet').waitFor()
    await page.getByText('Notices appear here as soon as Sluice sends them').waitFor()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('textbox', { name: 'Name' }).waitFor()
    expect(await page.getByRole('button', { name: /write key/i }).count()).toBe(0)
    expect(await page.getByRole('textbox', { name: 'Workspace' }).count()).toBe(0)
    expect(await page.getByText('Max. calls/s').count()).toBe(0)
  })

  test('copying works without https, where pages have no clipboard API', async () => {
    const { page } = await on().come({ isNew: true })
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.goto('/sources')
    await page.getByRole('link', { name: 'iOS app' }).click()
    await page.getByRole('button', { name: 'Copy curl snippet' }).click()
    await page.getByText('Copied', { exact: true }).waitFor()
    await page.goto('/deliveries')
    await page.getByRole('textbox', { name: 'Message id' }).focus()
    await page.keyboard.press('Control+V')
    expect(await page.getByRole('textbox', { name: 'Message id' }).inputValue()).toContain('/v1/track')
  })
}

async function describeSource(page: Page, name: string, kind: string): Promise<void> {
  await page.goto('/sources')
  await page.getByRole('button', { name: 'New source' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('combobox', { name: 'Kind' }).selectOption(kind)
}
