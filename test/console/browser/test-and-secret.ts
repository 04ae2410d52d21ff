import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import type { Stage } from './stage.ts'
import { copy, settle, shoot } from './visit.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes, ok').toString('base64')}`

export function testAndRotate(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good } = on()
    await sluice.api('post', 'sources', { id: 'lab', name: 'Lab', writeKey: 'lab-write-key' })
    await sluice.destination('tested', [], {
      name: 'Tested',
      sourceIds: ['lab'],
      sharedSecret: SECRET,
      standardWebhooks: true,
      webhooks: [{ url: `${good.url}/tested`, headers: { 'X-Key': 'stored-value' } }],
    })
    const call = { type: 'group', userId: 'lea', groupId: 'g1', traits: { 'Company Name': 'Lab ✓' } }
    await sluice.send([call], 'lab-write-key')
    await until(() => arrived().length === 1)
  })

  const arrived = () => on().good.arrivals.filter(({ path }) => path === '/tested')

  test('a sample can be edited, and the test shows what was sent and received', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/tested/test')
    const call = page.getByRole('textbox', { name: 'Call' })
    const send = page.getByRole('button', { name: 'Send test' })
    await page.getByRole('combobox', { name: 'Start from' }).selectOption('Sample track')
    await call.fill('{"type": "track"')
    await page.getByText('This is not JSON').waitFor()
    expect(await send.isEnabled()).toBe(false)
    await call.fill('{"type": "track", "userId": "edited"}')
    await send.click()
    await page.getByText('a track call needs event, the name of the action').waitFor()
    await call.fill('{"type": "track", "userId": "edited", "event": "Edited"}')
    await page.getByText('a track call needs event').waitFor({ state: 'detached' })
    const before = arrived().length
    await send.click()
    await page.getByText('status 200').waitFor()
    expect(arrived()).toHaveLength(before + 1)

    const arrival = arrived().at(-1)
    const [head = '', body] = (await copy(page, 'Copy request to URL 1')).split('\n\n')
    expect(body).toBe(arrival?.body)
    const [start, ...headers] = head.split('\n')
    expect(start).toBe('POST /tested HTTP/1.1')
    const shown = headers.map((line) => [
      line.split(': ')[0]?.toLowerCase(),
      line.split(': ').slice(1).join(': '),
    ])
    expect(shown).toEqual(Object.entries({ ...arrival?.headers, 'x-key': '***' }))
    const response = await copy(page, 'Copy response from URL 1')
    expect(response).toMatch(/^HTTP\/1\.1 200\n.*connection: keep-alive.*\n\nok$/s)
    await expectAccessible(page)
    await shoot(page, 'test-send')

    await page.setViewportSize({ width: 375, height: 800 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await settle(page)
    await expectAccessible(page, { where: 'main' })
    expect(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await shoot(page, 'test-send-phone')
  })

  test('one of the last events is sent as it was', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/tested/test')
    const start = page.getByRole('combobox', { name: 'Start from' })
    const recent = start.getByRole('option', { name: /^group from lea/ })
    await recent.waitFor({ state: 'attached' })
    await start.selectOption({ label: (await recent.textContent()) ?? '' })
    const before = arrived().length
    await page.getByRole('button', { name: 'Send test' }).click()
    await until(() => arrived().length === before + 1)
    expect(arrived().at(-1)?.body).toBe(arrived()[0]?.body)
    expect(arrived().at(-1)?.headers['x-message-id']).toMatch(/^test-/)
  })

  test('the copied code verifies what was sent, in the scheme of the destination', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/tested/test')
    let code = ''
    for (const language of ['Go', 'Python', 'PHP', 'Ruby', 'Node']) {
      await page.getByRole('tab', { name: language }).click()
      code = await copy(page, `Copy ${language} verification snippet`)
      expect(code).toContain('webhook-signature')
    }
    expect(code).toContain('export function isGenuine')
    await shoot(page, 'verification')
    const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    await page.getByRole('button', { name: 'Send test' }).click()
    await page.getByText('status 200').waitFor()
    const { body = '', headers = {} } = arrived().at(-1) ?? {}
    expect(isGenuine(Buffer.from(body), headers, SECRET)).toBe(true)
    expect(isGenuine(Buffer.from(`${body} `), headers, SECRET)).toBe(false)
  })

  test('the setup recommends Standard Webhooks, and SHA-1 is a choice', async () => {
    const { sluice, good } = on()
    for (const scheme of ['standard', 'sha1'] as const) {
      const { page } = await on().come()
      await page.goto('/catalog/webhooks')
      await page.getByRole('checkbox', { name: /Lab/ }).check()
      await page.getByRole('button', { name: 'Next: URLs' }).click()
      await page.getByRole('textbox', { name: 'URL 1', exact: true }).fill(`${good.url}/${scheme}`)
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill(scheme)
      await page.getByRole('button', { name: 'Next: secret' }).click()
      await page
        .getByRole('radio', { name: /recommended/ })
        .and(page.locator(':checked'))
        .waitFor()
      if (scheme === 'sha1') await page.getByRole('radio', { name: /compatible/ }).check()
      await page.getByRole('button', { name: 'Generate' }).click()
      const secret = await page.getByRole('textbox', { name: /Shared secret/ }).inputValue()
      expect(secret.startsWith('whsec_')).toBe(scheme === 'standard')
      await expectAccessible(page)
      await shoot(page, `set-up-secret-${scheme}`)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('button', { name: 'Send test' }).click()
      await page.getByText('status 200').waitFor()
      const headers = good.arrivals.find(({ path }) => path === `/${scheme}`)?.headers
      expect(headers).toHaveProperty('x-signature')
      expect(headers?.['webhook-signature'] !== undefined).toBe(scheme === 'standard')
      const made = (await sluice.api('get', 'destinations?limit=1000')).body.items as { name: string }[]
      expect(made.find(({ name }) => name === scheme)).toMatchObject(
        scheme === 'standard' ? { standardWebhooks: true } : { sharedSecret: '***' },
      )
    }
  })

  test('a rotation shows which header carries which signature and when each stops, and can be ended', async () => {
    const { page } = await on().come()
    await page.goto('/destinations/tested/secret')
    const now = page.getByRole('table', { name: 'Signatures now' })
    await now.getByRole('row', { name: /^X-Signature .* Current secret/ }).waitFor()
    expect(await now.getByRole('row').count()).toBe(3)
    await page.getByRole('button', { name: 'Generate' }).click()
    const after = page.getByRole('table', { name: 'Signatures after you replace the secret' })
    await after.getByRole('row', { name: /^X-Signature-Previous .* Current secret .*\d\d:\d\d/ }).waitFor()
    await after
      .getByRole('row', { name: /^webhook-signature, second .* Current secret .*\d\d:\d\d/ })
      .waitFor()
    await shoot(page, 'rotation-preview')
    await page.getByRole('combobox', { name: 'Keep signing' }).selectOption('End it now')
    await page.getByText('Receivers that still have the current secret reject every request').waitFor()
    expect(await after.getByRole('row').count()).toBe(3)
    await page.getByRole('combobox', { name: 'Keep signing' }).selectOption('For 1 day')
    const secret = await page.getByRole('textbox', { name: 'New secret' }).inputValue()
    await page.getByRole('button', { name: 'Replace secret' }).click()
    await page.getByText('Rotation in progress').waitFor()
    await page.getByText(secret, { exact: true }).waitFor()
    const copy = page.getByRole('button', { name: 'Copy new secret' })
    // shown only once, above the form
    await until(async () => ((await copy.boundingBox())?.y ?? -1) > 0)
    await now.getByRole('row', { name: /^X-Signature-Previous .* Previous secret .*\d\d:\d\d/ }).waitFor()
    await expectAccessible(page)
    await shoot(page, 'rotation')
    await page.setViewportSize({ width: 375, height: 800 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await settle(page)
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'rotation-phone')
    // a second replacement ends the secret that receivers still have
    await page.getByRole('button', { name: 'Generate' }).click()
    const again = page.getByRole('button', { name: 'Replace secret' })
    expect(await again.isDisabled()).toBe(true)
    await page.getByRole('checkbox', { name: /No receiver uses the previous secret/ }).check()
    await until(() => again.isEnabled())
    await page.getByRole('button', { name: 'End the previous secret now' }).click()
    await page.getByText('Rotation in progress').waitFor({ state: 'detached' })
    await page.getByText(secret, { exact: true }).waitFor({ state: 'detached' })
    expect((await on().sluice.api('get', 'destinations/tested')).body).not.toHaveProperty('previousSecret')
    expect(await now.getByRole('row').count()).toBe(3)
  })
}
