import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Found = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[]
}

/** @param where all of the page, unless told. */
type Asked = { where?: 'main' | '[role=dialog]'; runOnly?: readonly string[] }

/** What axe calls serious or critical: where, and what. It is put into the page past its policy, as a debugger would. */
export async function faults(page: Page, { where, ...rules }: Asked = {}): Promise<string[]> {
  // half a megabyte, once for each page that is loaded
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(await AXE)
  // it would load the styles once more, for two rules of its own that are not serious
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

/** What is only there for a moment, as a dialogue or an error, has to be in order as well. */
export const expectInOrder = async (page: Page, asked?: Asked) =>
  expect(await faults(page, asked)).toEqual([])
