import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ingestAddress } from '../../../control/api/console.ts'
import { api } from '../api.ts'
import { head, listen } from '../wire.ts'

const PAGE =
  '<meta property="csp-nonce" nonce="__SLUICE_NONCE__" /><meta content="__SLUICE_INGEST__" /><meta name="sluice-limits" content="__SLUICE_LIMITS__" />'
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function served(ingest?: { url: string | undefined; port: number }) {
  return (await servedFrom(ingest)).ask
}

async function servedFrom(
  ingest: { url: string | undefined; port: number } = { url: undefined, port: 8080 },
) {
  const built = await mkdtemp(join(tmpdir(), 'sluice-console-'))
  onTestFinished(() => rm(built, { recursive: true }))
  await mkdir(join(built, 'assets'))
  await writeFile(join(built, 'index.html'), PAGE)
  await writeFile(join(built, 'licenses.md'), '# Licenses')
  await writeFile(join(built, 'assets', 'index-1a2b.js'), 'plain')
  await writeFile(join(built, 'assets', 'index-1a2b.js.br'), 'brotli')
  const { app } = api({}, { built, ingest })
  const ask = (url: string, headers: Record<string, string> = html) =>
    app.inject({ url, headers: { host: 'sluice.example:8081', ...headers } })
  return { ask, built }
}

test('the page is open to anyone, at every path of its views', async () => {
  const ask = await served()
  for (const url of ['/', '/sources/shop', '/deliveries?userId=u1']) {
    const { statusCode, headers } = await ask(url)
    expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/html; charset=utf-8',
      'no-cache',
    ])
  }
})

test('the page runs only its own scripts, and inline styles with a nonce that is unique per response', async () => {
  const ask = await served()
  const [one, other] = [await ask('/'), await ask('/')]
  const policy = String(one.headers['content-security-policy'])
  const nonce = /'nonce-([\w-]{22})'/.exec(policy)?.[1]
  expect(one.body).toContain(`nonce="${nonce}"`)
  expect(policy).toContain("default-src 'none'; script-src 'self';")
  expect(policy).not.toMatch(/unsafe|\*/)
  expect(other.body).not.toBe(one.body)
  expect(one.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
})

test('the page may also send requests to ingest, at the address in the settings or on its own host', async () => {
  const { body, headers } = await (await served())('/')
  expect(body).toContain('content="http://sluice.example:8080"')
  expect(headers['content-security-policy']).toContain("connect-src 'self' http://sluice.example:8080;")
  const elsewhere = await (await served({ url: 'https://in.example/calls/', port: 1 }))('/')
  expect(elsewhere.body).toContain('content="https://in.example/calls"')
  expect(elsewhere.headers['content-security-policy']).toContain("connect-src 'self' https://in.example;")
})

test('the page names the timeout, retry window and ladder of this system', async () => {
  const { body } = await (await served())('/')
  const [, content = ''] = /name="sluice-limits" content="([^"]*)"/.exec(body) ?? []
  expect(JSON.parse(content.replaceAll('&quot;', '"'))).toEqual({
    responseTimeoutMs: 7_000,
    retryWindowMs: 90_000,
    retryDelays: ['5s', '1m'],
    eventsKeptMs: null,
    deadKeptMs: null,
  })
})

test('an asset is cached for a year, in a compression that the browser accepts', async () => {
  const ask = await served()
  const small = await ask('/assets/index-1a2b.js', { 'accept-encoding': 'gzip, br' })
  expect([small.body, small.headers['content-encoding']]).toEqual(['brotli', 'br'])
  expect(small.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect((await ask('/assets/index-1a2b.js', { 'accept-encoding': 'identity' })).body).toBe('plain')
})

test.each([
  ['br;q=0, gzip', 'plain'],
  ['GZIP, BR ; q=0.5', 'brotli'],
  ['x-br', 'plain'],
  ['', 'plain'],
])('Accept-Encoding: %s gets %s', async (accepted, body) => {
  const ask = await served()
  const { headers, ...answer } = await ask('/assets/index-1a2b.js', { 'accept-encoding': accepted })
  expect([answer.body, headers.vary]).toEqual([body, 'accept-encoding'])
})

test('an asset is read once, and its bytes are shared by all clients', async () => {
  const { ask, built } = await servedFrom()
  const url = '/assets/index-1a2b.js'
  expect((await ask(url, {})).body).toBe('plain')
  await rm(join(built, 'assets'), { recursive: true })
  expect((await ask(url, {})).body).toBe('plain')
  // the console may be built while control runs
  expect((await ask('/assets/later.js', {})).statusCode).toBe(404)
  await mkdir(join(built, 'assets'))
  await writeFile(join(built, 'assets', 'later.js'), 'later')
  expect((await ask('/assets/later.js', {})).body).toBe('later')
})

test('simultaneous requests for the page share one open file, because a process may open few', async () => {
  const ask = await served()
  let most = 0
  let isOver = false
  const counting = (async () => {
    for (; !isOver; await setImmediate())
      most = Math.max(most, process.getActiveResourcesInfo().filter((name) => name === 'FSReqPromise').length)
  })()
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask('/')))
  isOver = true
  await counting
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  // other tests of this worker may read files
  expect(most).toBeLessThan(20)
})

test.each([
  '/assets/..%2findex.html',
  '/assets/%2e%2e%2findex.html',
  '/assets/.env',
  '/assets/',
  '/assets/a%00',
])('nothing but assets is served from their folder: %s', async (url) => {
  const { ask, built } = await servedFrom()
  await writeFile(join(built, 'assets', '.env'), 'secret')
  expect((await ask(url, {})).statusCode).toBe(404)
})

test('the page is also at a path that begins with two slashes', async () => {
  const { app, lines } = api({}, { built: '/nowhere' })
  const open = await listen(app)
  const asked = open(head('GET // HTTP/1.1', { Accept: 'text/html', Connection: 'close' }))
  expect(await text(asked)).toMatch(/^HTTP\/1.1 503 [\s\S]*npm run console/)
  expect(lines.filter((line) => line.includes('a request failed'))).toEqual([])
})

test('other paths stay 404: for programs, the API, and missing assets', async () => {
  const ask = await served()
  for (const [url, headers] of [
    ['/nothing', { accept: 'application/json' }],
    ['/assets/index-old.js', html],
    ['/docs/nothing', { accept: 'application/json' }],
  ] as const) {
    const answer = await ask(url, headers)
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found'])
  }
  expect((await ask('/api/nothing')).statusCode).toBe(401)
})

test('the licenses of bundled packages are open to anyone, as text', async () => {
  const { statusCode, headers, body } = await (await served())('/licenses')
  expect([statusCode, headers['content-type'], body]).toEqual([
    200,
    'text/plain; charset=utf-8',
    '# Licenses',
  ])
  const { app } = api({}, { built: '/nowhere' })
  expect((await app.inject({ url: '/licenses', headers: html })).statusCode).toBe(404)
})

test('without a built console it says how to build one', async () => {
  const { app } = api({}, { built: '/nowhere' })
  const { statusCode, body } = await app.inject({ url: '/', headers: html })
  expect([statusCode, body]).toEqual([503, expect.stringContaining('npm run console')])
})

test.each([
  ['sluice.example', 'http://sluice.example:8080'],
  ['127.0.0.1', 'http://127.0.0.1:8080'],
  ['[::1]', 'http://[::1]:8080'],
  // it appears in a header of the response and in the page
  ['evil"; script-src *', 'http://localhost:8080'],
  // not valid in a URL
  ['1.2.3.999', 'http://localhost:8080'],
  ['x.0xg.1', 'http://localhost:8080'],
  ['[fe80::1%eth0]', 'http://localhost:8080'],
])('a page opened at %s finds ingest at %s', (hostname, address) => {
  expect(ingestAddress({ url: undefined, port: 8080 }, hostname)).toBe(address)
})
