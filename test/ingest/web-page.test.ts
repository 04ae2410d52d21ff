import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { snippets } from '../../console/src/views/sources/snippets.ts'
import { chromiumPath, launchChromium } from '../console/browser/chromium.ts'
import { until } from '../helpers/until.ts'
import { fakeIngest } from './fake.ts'

/** The code of docs/guides/sources.md, for this address. */
async function codeFor(endpoint: string): Promise<string> {
  const guide = await readFile('docs/guides/sources.md', 'utf8')
  const section = guide.slice(guide.indexOf('\n## Send from a web page'))
  const code = /```js\n(.+?)```/s.exec(section)?.[1] ?? ''
  expect(code).toContain('http://localhost:8080/')
  return code.replaceAll('http://localhost:8080', endpoint)
}

/** A page of another origin. `methods`: those of the requests to ingest. */
async function pageBesideIngest(writeKey = 'shop-write-key') {
  const sources = [{ id: 'shop', writeKey, enabled: true, kind: 'web' }] as const
  const ingest = fakeIngest({ sources })
  const methods: string[] = []
  ingest.app.addHook('onRequest', async ({ method }) => void methods.push(method))
  const endpoint = await ingest.app.listen({ host: '127.0.0.1', port: 0 })
  const site = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<p>Shop'))
  await once(site.listen(0, '127.0.0.1'), 'listening')
  const browser = await launchChromium()
  onTestFinished(async () => {
    await browser.close()
    site.close()
    await ingest.app.close()
  })
  const page = await browser.newPage()
  await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`)
  return { ingest, methods, endpoint, page }
}

const run = (page: Page, code: string) => page.evaluate(`(async () => { ${code} })()`)

describe.skipIf(!chromiumPath)('a web page', () => {
  test('sends calls with the code of the guide, without a preflight request', async () => {
    const { ingest, methods, endpoint, page } = await pageBesideIngest()
    await run(page, `${await codeFor(endpoint)}; await track('Clicked', { button: 'buy' })`)
    await until(() => ingest.events().length === 1, { message: 'the call arrives' })
    expect(ingest.events()).toMatchObject([
      { sourceId: 'shop', event: 'Clicked', properties: '{"button":"buy"}', context: '{"ip":"127.0.0.1"}' },
    ])
    expect(methods).toEqual(['POST'])
  })

  test("sends a call with the console's snippet, whatever the write key contains", async () => {
    const writeKey = `a'b"c&d=%20#e`
    const { ingest, endpoint, page } = await pageBesideIngest(writeKey)
    await run(page, snippets({ writeKey, endpoint }).find(({ id }) => id === 'web')?.code ?? '')
    await until(() => ingest.events().length === 1, { message: 'the call arrives' })
    expect(ingest.events()).toMatchObject([
      { userId: 'u1', event: 'Signed Up', properties: '{"plan":"pro"}' },
    ])
  })

  test('sends a call with a beacon when it closes', async () => {
    const { ingest, endpoint, page } = await pageBesideIngest()
    const call = `JSON.stringify({ anonymousId: 'a1', event: 'Left' })`
    await run(
      page,
      `addEventListener('pagehide', () => navigator.sendBeacon('${endpoint}/v1/track?writeKey=shop-write-key', ${call}))`,
    )
    await page.goto('about:blank')
    await until(() => ingest.events().length === 1, { message: 'the call arrives' })
    expect(ingest.events()).toMatchObject([{ anonymousId: 'a1', event: 'Left' }])
  })
})
