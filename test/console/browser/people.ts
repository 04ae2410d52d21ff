import { readFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { expectAccessible } from './axe.ts'
import type { Stage } from './stage.ts'
import { settle, shoot } from './visit.ts'

const PHONE = { width: 375, height: 800 }

export function managePeople(on: () => Stage): void {
  beforeAll(async () => {
    const { sluice, good } = on()
    await sluice.api('post', 'sources', { id: 'people', name: 'People', writeKey: 'people-write-key' })
    await sluice.destination('people', [`${good.url}/people`], { sourceIds: ['people'] })
    await sluice.send([{ type: 'track', userId: 'ann', event: 'Ordered' }], 'people-write-key')
    await until(() => arrived().length > 0)
  })

  const arrived = () => on().good.arrivals.filter(({ path }) => path === '/people')
  const source = async () => (await on().sluice.api('get', 'sources/people')).body

  test('a user is found with the last events, deleted and suppressed, and the audit log says so', async () => {
    const { page } = await on().come()
    await page.goto('/users?userId=') // asks for nobody
    await page.getByText('No user has been deleted').waitFor()
    await page.getByRole('textbox', { name: 'User ID' }).fill(' ann ')
    await page.getByRole('button', { name: 'Find user' }).click()
    await page.getByRole('heading', { name: 'User ann' }).waitFor()
    await page.getByText('Not suppressed').waitFor()
    // other tests have a user of this name
    const event = page.getByRole('article').filter({ hasText: 'from People' })
    await event.getByRole('heading', { name: 'track “Ordered”' }).waitFor()
    expect(new URL(page.url()).search).toBe('?userId=ann')
    await page.getByRole('button', { name: 'Delete user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await shoot(page, 'delete-user')
    await dialog.getByRole('button', { name: 'Delete ann' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Calls from all sources have been dropped since').waitFor()
    const done = page.getByRole('region', { name: 'Deletions' }).getByText('Done', { exact: true }).first()
    await done.waitFor()
    // without scrolling past the events
    expect((await done.boundingBox())?.y).toBeLessThan(900)
    await until(() => arrived().some(({ body }) => JSON.parse(body).type === 'delete'))
    await page.getByRole('button', { name: 'Find user' }).click()
    await page.getByRole('heading', { name: 'delete', exact: true }).first().waitFor()
    await shoot(page, 'user')

    await page.getByRole('button', { name: 'End suppression' }).click()
    await page.getByText('Not suppressed').waitFor()
    await page.getByRole('button', { name: 'Suppress user' }).click()
    await dialog.getByRole('combobox', { name: 'Calls from' }).selectOption('people')
    await dialog.getByRole('button', { name: 'Suppress user' }).click()
    await page.getByText('Calls from People have been dropped since').waitFor()

    await page.goto('/audit?what=deletion')
    await page.getByText('users: 1').waitFor()
    expect(await page.getByRole('main').textContent()).not.toContain('ann')
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('suppression')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('userId: changed').first().waitFor()
    await page.getByRole('table').getByText('admin, signed in').first().waitFor()
    await shoot(page, 'audit')
    await page.getByRole('textbox', { name: 'ID' }).fill('nothing')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('No entries').waitFor()
  })

  test('several users are deleted at once, and their number is shown before', async () => {
    const { page } = await on().come({ colorScheme: 'dark' })
    await page.setViewportSize(PHONE)
    await page.goto('/users')
    await page.getByRole('button', { name: 'Delete several users' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'User IDs' }).fill('bob\n bob \n\ncara')
    await dialog.getByRole('checkbox', { name: /drop all later calls/ }).uncheck()
    await dialog.getByRole('button', { name: 'Delete 2 users' }).click()
    await dialog.waitFor({ state: 'detached' })
    await until(async () => {
      const { body } = await on().sluice.api('get', 'deletions?newest=true&limit=1')
      const [latest] = body.items as { users: number; state: string; suppressed: boolean }[]
      return latest?.users === 2 && latest.state === 'done' && !latest.suppressed
    })
    await page.getByRole('table').getByRole('row').nth(2).waitFor()
    await settle(page)
    await shoot(page, 'users-phone')
  })

  test('an admin downloads a backup, and learns how to restore it', async () => {
    const { page } = await on().come()
    await page.goto('/')
    await page.getByRole('link', { name: 'Backup' }).click()
    await page.getByText('sluice restore').waitFor()
    await expectAccessible(page)
    await shoot(page, 'backup')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download backup' }).click()
    const file = await download
    expect(file.suggestedFilename()).toMatch(/^sluice-\d{4}-\d\d-\d\d\.backup$/)
    const text = await readFile(await file.path(), 'utf8')
    expect(text).toContain('people')
    expect(text).toMatch(/\nend [\w-]+\n$/)
    await page.getByText('The backup is complete').waitFor()

    await page.route('**/api/backup', (route) => route.fulfill({ body: text.slice(0, -50) }))
    await page.getByRole('button', { name: 'Download backup' }).click()
    await page.getByText('The download broke off').waitFor()
    await page.route('**/api/backup', (route) =>
      route.fulfill({
        status: 503,
        json: { code: 'unavailable', message: 'Kafka does not answer', errors: [] },
      }),
    )
    await page.getByRole('button', { name: 'Download backup' }).click()
    await page.getByText('Kafka does not answer').waitFor()

    const { page: viewed } = await on().come({ as: 'view' })
    await viewed.goto('/backup')
    await viewed.getByText('This token cannot download a backup').waitFor()
    expect(await viewed.getByRole('link', { name: 'Backup' }).count()).toBe(0)
  })

  test('with the view token a user can be found, but not deleted or suppressed', async () => {
    const { page } = await on().come({ as: 'view' })
    await page.goto('/users?userId=ann')
    await page.getByText('Calls from People have been dropped since').waitFor()
    const actions = page.getByRole('main').getByRole('button', { name: /delete|suppress/i })
    expect(await actions.count()).toBe(0)
  })

  test('a write key is replaced with an overlap, which can be ended early', async () => {
    const { page } = await on().come()
    await page.goto('/sources/people')
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.reload()
    await page.getByRole('tab', { name: 'Settings', selected: true }).waitFor()
    await page.getByText('people-write-key').waitFor()
    await page.getByRole('button', { name: 'Replace write key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: /Keep accepting/ }).selectOption('168')
    await dialog.getByRole('button', { name: 'Replace write key' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('The previous write key still works').waitFor()
    await settle(page)
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'write-key')
    const { writeKey, previousWriteKey } = await source()
    expect([previousWriteKey, String(writeKey)]).toEqual([
      'people-write-key',
      expect.stringMatching(/^[\w-]{32}$/),
    ])
    await page.getByText(String(writeKey)).first().waitFor()
    const { sluice } = on()
    for (const key of ['people-write-key', String(writeKey)])
      await sluice.send([{ type: 'track', userId: 'dan', event: `With ${key}` }], key)
    await until(() => arrived().filter(({ body }) => body.includes('With ')).length === 2)

    await page.getByRole('button', { name: 'End the previous write key of People now' }).click()
    await page.getByText('The previous write key still works').waitFor({ state: 'detached' })
    const called = async () =>
      (await fetch(`${sluice.ingest}/v1/track`, { method: 'POST', body: call('people-write-key') })).status
    await until(async () => (await called()) === 401)
  })

  test("a previous write key ends now, even if the browser's clock is ahead", async () => {
    const { page } = await on().come({ isNew: true })
    await page.clock.setSystemTime(Date.now() + 600_000)
    await page.goto('/sources/people/settings')
    await page.getByRole('button', { name: 'Replace write key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace write key' }).click()
    await page.getByRole('button', { name: 'End the previous write key of People now' }).click()
    await page.getByText('The previous write key still works').waitFor({ state: 'detached' })
    const { previousWriteKeyExpiresAt: end } = await source()
    expect(Date.parse(String(end ?? new Date(0).toISOString()))).toBeLessThanOrEqual(Date.now())
  })

  const call = (writeKey: string) => JSON.stringify({ writeKey, userId: 'dan', event: 'Late' })

  test('an upload is previewed, and must be confirmed if lines are unusable or many would be removed', async () => {
    const { sluice, come } = on()
    const body = { id: 'readers', name: 'Readers', sourceId: 'people' }
    expect((await sluice.api('post', 'audiences', body)).status).toBe(201)
    const { page } = await come({ colorScheme: 'dark' })
    await page.goto('/audiences')
    await page.getByRole('button', { name: 'Upload members to Readers' }).click()
    const dialog = page.getByRole('dialog')
    const [preview, upload] = ['Preview', 'Upload'].map((name) =>
      dialog.getByRole('button', { name, exact: true }),
    )
    if (!preview || !upload) throw new Error('two names make two buttons')
    const users = Array.from({ length: 20 }, (_, index) => `r${index}`)
    await dialog.locator('input[type=file]').setInputFiles({
      name: 'readers.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`plan,user_id\n${users.map((user) => `pro,${user}\n`).join('')}`),
    })
    await preview.click()
    await dialog.getByText('Adds 20, removes 0').waitFor()
    await dialog.getByText('Read as CSV').waitFor()
    await upload.click()
    await dialog.getByText('Compared 20 users with the last upload').waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()

    // as a spreadsheet's clipboard
    await dialog.getByRole('textbox', { name: 'User IDs' }).fill('Plan\tuserId\npro\tr0\n')
    await preview.click()
    await dialog.getByText('Adds 0, removes 19').waitFor()
    await dialog.getByText('Read as CSV').waitFor()
    await dialog.getByRole('textbox', { name: 'User IDs' }).fill('r0;a@b.example\n')
    await preview.click()
    await dialog.getByText('Adds 1, removes 20').waitFor()
    await dialog.getByText('is read as one ID').waitFor()

    await dialog.getByRole('textbox', { name: 'User IDs' }).fill('r0\nnew-1\n{"userId": "r2"}')
    await preview.click()
    await dialog.getByText('Adds 1, removes 19, 1 line cannot be used').waitFor()
    await dialog.getByText('Line 3 is a JSON object').waitFor()
    expect(await upload.isDisabled()).toBe(true)
    await settle(page)
    await expectAccessible(page, { where: '[role=dialog]' })
    await page.setViewportSize(PHONE)
    await settle(page)
    await shoot(page, 'upload-preview')
    await dialog.getByRole('checkbox', { name: 'Leave out the 1 line' }).check()
    expect(await upload.isDisabled()).toBe(true)
    await dialog.getByRole('checkbox', { name: 'Remove 19 of 20' }).check()
    // what is uploaded is what was shown: a change needs a new preview
    await dialog.getByRole('textbox', { name: 'User IDs' }).fill('r0\nnew-1\n{"userId": "r2"}\n')
    await preview.click()
    await dialog.getByRole('checkbox', { name: 'Leave out the 1 line' }).check()
    await dialog.getByRole('checkbox', { name: 'Remove 19 of 20' }).check()
    await upload.click()
    await dialog.getByText('Compared 2 users with the last upload').waitFor()
    await until(() => arrived().filter(({ body }) => body.includes('"readers":false')).length === 19)
    // other tests begin without audiences
    expect((await sluice.api('delete', 'audiences/readers')).status).toBe(204)
  })

  test('an upload continues if its dialog is closed or the page is reloaded, and its row says so', async () => {
    const { sluice, come } = on()
    const body = { id: 'viewers', name: 'Viewers', sourceId: 'people' }
    expect((await sluice.api('post', 'audiences', body)).status).toBe(201)
    const { page } = await come()
    const released = Promise.withResolvers<void>()
    const isUpload = ({ pathname, search }: URL) => pathname.endsWith('/viewers/members') && search === ''
    await page.route(isUpload, async (route) => {
      await released.promise
      await route.continue()
    })
    await page.goto('/audiences')
    const open = page.getByRole('button', { name: 'Upload members to Viewers' })
    const dialog = page.getByRole('dialog')
    const status = page.getByRole('row', { name: /Viewers/ }).getByRole('status')
    await open.click()
    await dialog.getByRole('textbox', { name: 'User IDs' }).fill('v1\nv2')
    await dialog.getByRole('button', { name: 'Preview' }).click()
    await dialog.getByRole('button', { name: 'Upload', exact: true }).click()
    await dialog.getByText('You can close this dialog').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await status.getByText('Uploading…').waitFor()
    await page.getByRole('link', { name: 'Traits' }).click()
    await page.getByRole('link', { name: 'Audiences' }).click()
    await status.getByText('Uploading…').waitFor()
    await expectAccessible(page, { where: 'main' })
    await open.click()
    await dialog.getByText('You can close this dialog').waitFor()
    expect(await dialog.getByRole('textbox', { name: 'User IDs' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')

    released.resolve()
    await status.getByText('Uploaded').waitFor()
    await open.click()
    await dialog.getByText('Compared 2 users with the last upload').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await status.count()).toBe(0)
    await page.reload()
    const row = page.getByRole('row', { name: /Viewers/ })
    await row.getByText('2 users: 2 new or changed, 0 removed').waitFor()

    // the API says that the sync is still running
    const { items } = (await sluice.api('get', 'syncs?audienceId=viewers')).body
    const [{ changed: _, removed: __, ...latest } = {}] = items as Record<string, unknown>[]
    let json: object = { items: [{ ...latest, state: 'accepted' }], next: null }
    await page.route('**/api/syncs?*', (route) => route.fulfill({ json }))
    await page.reload()
    await status.getByText('Running', { exact: true }).waitFor()
    await status.getByText(/2 users, started/).waitFor()
    await expectAccessible(page, { where: 'main' })
    await shoot(page, 'upload-running')
    await open.click()
    await dialog.getByText('It continues in the background').waitFor()
    const cause = { code: 'partitions_changed', message: 'The number of partitions changed' }
    json = { items: [{ ...latest, state: 'failed', cause }], next: null }
    await dialog.getByText('It continues in the background').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await status.getByText('Failed', { exact: true }).waitFor()
    await status.getByText('The number of partitions changed').waitFor()
    expect((await sluice.api('delete', 'audiences/viewers')).status).toBe(204)
  })
}
