import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Found = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** `where`: the whole page by default. */
type CheckOptions = { where?: 'main' | '[role=dialog]'; runOnly?: readonly string[] }

/** Serious and critical ones. Injects axe past the content security policy. */
export async function violationsIn(page: Page, { where, ...rules }: CheckOptions = {}): Promise<string[]> {
  // half a megabyte, so once per loaded page
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(await AXE)
  // preload would load the styles again for two rules that are not serious
  const options = JSON.stringify({ resultTypes: ['violations'], preload: false, ...rules })
  const place = where === undefined ? 'document' : JSON.stringify(where)
  const { violations } = await page.evaluate<Found>(`axe.run(${place}, ${options})`)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary }) =>
          `${new URL(page.url()).pathname}: ${id}: ${html.slice(0, 160)} ${failureSummary ?? ''}`,
      ),
    )
}

/** For what the check of all views misses: dialogs and errors. */
export const expectAccessible = async (page: Page, options?: CheckOptions) =>
  expect(await violationsIn(page, options)).toEqual([])
