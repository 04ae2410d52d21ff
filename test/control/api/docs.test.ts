import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { api } from '../api.ts'
import { head, listen } from '../wire.ts'

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function served() {
  const builtDocs = await mkdtemp(join(tmpdir(), 'sluice-docs-'))
  onTestFinished(() => rm(builtDocs, { recursive: true }))
  await mkdir(join(builtDocs, 'guides'))
  await mkdir(join(builtDocs, 'assets'))
  await writeFile(join(builtDocs, 'index.html'), 'home')
  await writeFile(join(builtDocs, '404.html'), 'not here')
  await writeFile(join(builtDocs, 'guides', 'index.html'), 'guides')
  await writeFile(join(builtDocs, 'guides', 'rules.html'), 'rules')
  await writeFile(join(builtDocs, 'assets', 'app.1a2b.js'), 'plain')
  await writeFile(join(builtDocs, 'assets', 'app.1a2b.js.gz'), 'gzip')
  await writeFile(join(builtDocs, '.env'), 'secret')
  const { app } = api({}, { builtDocs })
  const ask = (url: string, headers: Record<string, string> = html) => app.inject({ url, headers })
  return { ask, app, builtDocs }
}

test('the documentation is open to anyone', async () => {
  const { ask } = await served()
  for (const [url, content] of [
    ['/docs/', 'home'],
    ['/docs/guides/', 'guides'],
    ['/docs/guides/rules.html', 'rules'],
    ['/docs/guides/rules.html?from=search', 'rules'],
  ]) {
    const { statusCode, body, headers } = await ask(String(url))
    expect([statusCode, body, headers['content-type']]).toEqual([200, content, 'text/html; charset=utf-8'])
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
  }
  const { statusCode, headers } = await ask('/docs')
  expect([statusCode, headers.location]).toEqual([302, '/docs/'])
})

test('its pages run only their own scripts, and nothing inline', async () => {
  const { headers } = await (await served()).ask('/docs/')
  const policy = String(headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
  expect(policy).not.toMatch(/https?:|\*|unsafe|nonce|sha256/)
})

test('its assets are cached for a year, and compressed if the browser accepts that', async () => {
  const { ask } = await served()
  const small = await ask('/docs/assets/app.1a2b.js', { 'accept-encoding': 'gzip, br' })
  expect([small.body, small.headers['content-encoding']]).toEqual(['gzip', 'gzip'])
  expect(small.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect((await ask('/docs/assets/app.1a2b.js', {})).body).toBe('plain')
})

test('a file is read once, and its bytes are shared by all clients', async () => {
  const { ask, builtDocs } = await served()
  expect((await ask('/docs/guides/rules.html')).body).toBe('rules')
  await rm(join(builtDocs, 'guides'), { recursive: true })
  expect((await ask('/docs/guides/rules.html')).body).toBe('rules')
})

test.each([
  '/docs/nothing',
  '/docs/guides/nothing.html',
  // other names of existing files would be read again
  '/docs//guides/rules.html',
  '/docs/guides//rules.html',
  '/docs/./guides/rules.html',
  '/docs/guides/../index.html',
  '/docs/..%2fsite',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/docs/.env',
  '/docs/a%00',
  `/docs/${'a'.repeat(2_000)}`,
])('%s is a page that says so, or an error for programs', async (path) => {
  const open = await listen((await served()).app)
  // as it is: clients in tests and browsers resolve dots
  const asked = (accept: string) =>
    text(open(head(`GET ${path} HTTP/1.1`, { Accept: accept, Connection: 'close' })))
  const page = await asked('text/html')
  expect(page).toMatch(
    /^HTTP\/1.1 404 [\s\S]*content-security-policy: default-src 'none'[\s\S]*\r\n\r\nnot here$/,
  )
  expect(await asked('*/*')).toMatch(/^HTTP\/1.1 404 [\s\S]*"code":"not_found"/)
})

test('without a build, every page says how to build it and leads to the description of the API', async () => {
  const { app } = api({}, { builtDocs: '/nowhere' })
  for (const url of ['/docs/', '/docs/guides/rules.html']) {
    const { statusCode, body } = await app.inject({ url, headers: html })
    expect([statusCode, body]).toEqual([503, expect.stringContaining('npm run site')])
    expect(body).toContain('href="/docs/api/"')
  }
  const { statusCode } = await app.inject({ url: '/docs/api/', headers: html })
  expect(statusCode).toBe(200)
})
