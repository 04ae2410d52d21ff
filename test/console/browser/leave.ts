import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { until } from '../../helpers/until.ts'
import { ADMIN, type Stage } from './stage.ts'
import { endSessionAt, settle } from './visit.ts'

export function leaveForms(on: () => Stage): void {
  beforeAll(() => on().sluice.destination('form', [`${on().good.url}/form`], { name: 'Form' }))

  const nameOf = (page: Page) => page.getByRole('textbox', { name: 'Name', exact: true })

  /** Answers the question whether to leave. @returns how often it was asked */
  async function answer(page: Page, isLeaving: boolean): Promise<() => Promise<number>> {
    await page.evaluate(`window.asked = 0, window.confirm = () => (window.asked += 1, ${isLeaving})`)
    return () => page.evaluate<number>('window.asked')
  }

  async function openSettings(page: Page): Promise<void> {
    await page.goto('/sources')
    await page.getByRole('link', { name: 'Destinations' }).click()
    await page.getByRole('link', { name: 'Form', exact: true }).click()
    await page.getByRole('tab', { name: 'Settings' }).click()
  }

  test('back and forward ask before unsaved input is lost', async () => {
    const { page } = await on().come({ isNew: true })
    await openSettings(page)
    const path = '/destinations/form/settings'
    await nameOf(page).fill('Typed')
    const refused = await answer(page, false)
    for (let times = 1; times <= 2; times++) {
      await page.goBack()
      await until(async () => (await refused()) === times)
      expect(new URL(page.url()).pathname).toBe(path)
      expect(await nameOf(page).inputValue()).toBe('Typed')
    }
    const accepted = await answer(page, true)
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Destinations' }).waitFor()
    expect(await accepted()).toBe(1)
    // nothing is unsaved anymore
    await page.goForward()
    await nameOf(page).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Destinations' }).waitFor()
    expect(await accepted()).toBe(1)
  })

  test.each([
    ['a generated secret', 'secret', 'Generate'],
    ['an added URL', 'settings', 'Add another URL'],
    ['an added header', 'settings', 'Add header'],
  ])('leaving asks before %s is lost', async (_, tab, button) => {
    const { page } = await on().come({ isNew: true })
    await page.goto(`/destinations/form/${tab}`)
    await page.getByRole('button', { name: button }).click()
    const asked = await answer(page, false)
    await page.getByRole('link', { name: 'Sources' }).click()
    expect(await asked()).toBe(1)
    expect(new URL(page.url()).pathname).toBe(`/destinations/form/${tab}`)
  })

  test('at the end of a session, the sign-in covers a dialog, and Escape does not close the dialog', async () => {
    const { page } = await on().come({ isNew: true })
    await page.goto('/')
    // this view's dialog mounts after the sign-in
    await page.getByRole('link', { name: 'Sources', exact: true }).click()
    await page.getByRole('button', { name: 'New source' }).click()
    const name = page.getByRole('dialog', { name: 'New source' }).getByRole('textbox', { name: 'Name' })
    await name.fill('Typed before')
    await endSessionAt(page, 'POST', 'sources')
    await page.getByRole('button', { name: 'Create source' }).click()
    const signIn = page.getByRole('dialog', { name: 'Your session has ended' })
    const token = signIn.getByRole('textbox', { name: 'Control token' })
    await token.press('Escape')
    await settle(page)
    await token.fill(ADMIN)
    await signIn.getByRole('button', { name: 'Sign in' }).click()
    await signIn.waitFor({ state: 'detached' })
    expect(await name.inputValue()).toBe('Typed before')
    await page.keyboard.press('Escape')
    await name.waitFor({ state: 'detached' })
  })

  test('if the session ends during a preview, the console asks to sign in and then makes the preview', async () => {
    const { page } = await on().come({ isNew: true })
    await page.goto('/destinations/form/rules')
    const preview = page.getByRole('region', { name: 'Preview' })
    await preview.getByRole('status').getByText(/./).waitFor()
    await endSessionAt(page, 'POST', 'destinations/preview')
    await preview.getByRole('button', { name: 'Refresh' }).click()
    const signIn = page.getByRole('dialog', { name: 'Your session has ended' })
    await signIn.waitFor()
    await page.unrouteAll()
    await signIn.getByRole('textbox', { name: 'Control token' }).fill(ADMIN)
    await signIn.getByRole('button', { name: 'Sign in' }).click()
    await signIn.waitFor({ state: 'detached' })
    await page.getByText('The preview failed').waitFor({ state: 'detached' })
    await preview.getByRole('status').getByText(/./).waitFor()
  })
}
