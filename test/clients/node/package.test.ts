import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkNode } from '../../../clients/node/node-version.ts'
import { startService } from './service.ts'

const exec = promisify(execFile)
const project = fileURLToPath(new URL('../../../', import.meta.url))
const source = join(project, 'clients/node')
const tsc = join(project, 'node_modules/.bin/tsc')
const patience = { timeout: 360_000 }

let folder = ''
let app = ''
let tarball = ''

/** A copy, so that nothing is built in this folder. */
async function pack(): Promise<void> {
  const copy = join(folder, 'project/clients/node')
  const isSource = (path: string) => !/\/dist$|\.tgz$/.test(path)
  await cp(source, copy, { recursive: true, filter: isSource })
  await copyFile(join(project, 'tsconfig.json'), join(folder, 'project/tsconfig.json'))
  await symlink(join(project, 'node_modules'), join(folder, 'project/node_modules'))
  await exec('npm', ['pack'], { cwd: copy })
  const [name = ''] = (await readdir(copy)).filter((each) => each.endsWith('.tgz'))
  tarball = join(copy, name)
}

/** An application elsewhere, with the package installed. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-client-'))
  app = join(folder, 'app')
  await pack()
  await mkdir(app)
  await writeFile(join(app, 'package.json'), '{ "private": true, "type": "module" }')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund']
  await exec('npm', ['install', ...quiet, tarball], { cwd: app })
}, 360_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

test('the package contains code, types, README, changelog, examples and license, and nothing else', async () => {
  const names = await readdir(join(app, 'node_modules/sluice-analytics'))
  expect(names.sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'examples', 'package.json'])
  const licences = [join(app, 'node_modules/sluice-analytics/LICENSE'), join(project, 'LICENSE')]
  const [packed, ours] = await Promise.all(licences.map((path) => readFile(path, 'utf8')))
  expect(packed).toBe(ours)
  const built = await readdir(join(app, 'node_modules/sluice-analytics/dist'))
  expect(built.filter((name) => !/\.(js|d\.ts)$/.test(name))).toEqual([])
  expect(built).toEqual(expect.arrayContaining(['index.js', 'index.d.ts']))
})

test(
  'publint and arethetypeswrong find nothing wrong with it, except that it is ESM only',
  patience,
  async () => {
    const tool = (name: string) => join(project, 'node_modules/.bin', name)
    const { stdout } = await exec(tool('publint'), [tarball, '--strict'])
    // in CI it prints colors
    expect(stripVTControlCharacters(stdout)).toMatch(/All good!\n$/)
    // CommonJS programs use `require` from Node 22.12 on, and `import()` before
    const { stdout: types } = await exec(tool('attw'), [tarball, '--ignore-rules', 'cjs-resolves-to-esm'])
    expect(types).toContain('(ignoring rules: ')
  },
)

test('its README links to nothing that it does not have', async () => {
  const inside = join(app, 'node_modules/sluice-analytics')
  const readme = await readFile(join(inside, 'README.md'), 'utf8')
  const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target)
  expect(links).toContain('examples/first-call.mjs')
  const headings = [...readme.matchAll(/^## (.*)$/gm)].map(
    ([, heading = '']) => `#${heading.toLowerCase().replaceAll(' ', '-')}`,
  )
  for (const link of links)
    if (link.startsWith('#')) expect(headings).toContain(link)
    else await readFile(join(inside, link))
})

test('the first example sends its calls, says so, and ends', patience, async () => {
  const service = await startService()
  await copyFile(
    join(app, 'node_modules/sluice-analytics/examples/first-call.mjs'),
    join(app, 'first-call.mjs'),
  )
  const env = { ...process.env, WRITE_KEY: 'its-write-key', ENDPOINT: service.endpoint }
  const { stdout, stderr } = await exec(process.execPath, ['first-call.mjs'], { cwd: app, env })
  expect([stdout, stderr]).toEqual(['2 calls sent\n', ''])
  expect(service.arrivals.map(({ headers }) => headers.authorization)).toEqual([
    `Basic ${btoa('its-write-key:')}`,
  ])
  expect(service.calls()).toMatchObject([
    { type: 'identify', userId: 'u1', traits: { email: 'ada@example.com' } },
    { type: 'track', userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' } },
  ])
})

/** Starts the example server, collects its output, and waits until it listens. */
async function startServer(env: Record<string, string>, flags: readonly string[] = []) {
  await copyFile(join(app, 'node_modules/sluice-analytics/examples/server.mjs'), join(app, 'server.mjs'))
  const server = spawn(process.execPath, [...flags, 'server.mjs'], {
    cwd: app,
    env: { ...process.env, WRITE_KEY: 'its-write-key', PORT: '0', ...env },
  })
  const said = { out: '', error: '' }
  server.stdout.on('data', (data) => {
    said.out += data
  })
  server.stderr.on('data', (data) => {
    said.error += data
  })
  await expect.poll(() => said.out).toMatch(/^listening on \d+\n$/)
  const get = async (path: string) => (await fetch(`http://localhost:${said.out.match(/\d+/)}${path}`)).text()
  const end = async () => {
    server.kill('SIGTERM')
    const [code] = await once(server, 'exit')
    return [code, said.error]
  }
  return { get, end }
}

test('the example server sends its queued calls on SIGTERM', patience, async () => {
  const service = await startService()
  const server = await startServer({ ENDPOINT: service.endpoint })
  await server.get('/pricing')
  expect(await server.end()).toEqual([0, ''])
  expect(service.calls()).toMatchObject([{ type: 'page', anonymousId: 'visitor-1', name: '/pricing' }])
})

test(
  'the example server answers although a call is refused, and still sends the others',
  patience,
  async () => {
    const service = await startService()
    const server = await startServer({ ENDPOINT: service.endpoint }, ['--max-http-header-size=65536'])
    await server.get('/pricing')
    expect(await server.get(`/${'a'.repeat(40_000)}`)).toBe('hello\n')
    expect(await server.end()).toEqual([
      0,
      expect.stringMatching(/^A call may have at most 32768 bytes.*\n$/),
    ])
    expect(service.calls()).toMatchObject([{ type: 'page', name: '/pricing' }])
  },
)

describe('below Node 22, it refuses to be imported, with a code and both versions', () => {
  const message = (version: string) =>
    `unsupported_node: sluice-analytics needs Node 22 or later, but this process runs on Node ${version}.`
  const attempt =
    "await import('sluice-analytics').catch((error) => console.log(error.code + ': ' + error.message))"

  test('as Node says which version it is', patience, async () => {
    const claim = "Object.defineProperty(process.versions, 'node', { value: '21.7.3' })"
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(claim)}`]
    const { stdout } = await exec(process.execPath, [...flags, '--input-type=module', '-e', attempt], {
      cwd: app,
    })
    expect(stdout).toBe(`${message('21.7.3')}\n`)
  })

  /** The machine's own, which may be older than the tests' Node. */
  const [older = ''] = ['/usr/bin/node', '/usr/local/bin/node'].filter((path) => existsSync(path))
  const version = older ? execFileSync(older, ['--version'], { encoding: 'utf8' }).trim().slice(1) : '22'
  test.skipIf(Number.parseInt(version, 10) >= 22)('in such a Node itself', patience, async () => {
    const { stdout } = await exec(older, ['--input-type=module', '-e', attempt], { cwd: app })
    expect(stdout).toBe(`${message(version)}\n`)
  })

  test.each(['22.0.0', '24.1.0', '100.0.0', '23.0.0-nightly'])('unlike Node %s', (later) => {
    expect(() => checkNode(later)).not.toThrow()
  })

  test.each(['21.99.99', '20.20.2', '18.0.0', '9.11.2', 'none'])('such as Node %s', (earlier) => {
    expect(() => checkNode(earlier)).toThrow(expect.objectContaining({ code: 'unsupported_node' }))
  })
})

describe('its types', () => {
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2022',
    noEmit: true,
    types: [],
  }

  async function compile(program: string): Promise<string> {
    await writeFile(join(app, 'program.ts'), program)
    await writeFile(
      join(app, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['program.ts'] }),
    )
    return exec(tsc, ['-p', '.'], { cwd: app }).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    )
  }

  test('take what the methods take', patience, async () => {
    const program = `
      import { Analytics, AnalyticsError, type Callback, type ErrorListener, type Failure, type Options, type QueuedMessage, type Track } from 'sluice-analytics'
      const options: Options = { writeKey: 'k', onFailure: ({ error, messages }: Failure) => [error.code, messages[0]?.json] }
      const more: Options = { writeKey: 'k', agent: { https: {} }, onFailure: async ({ error }) => void error.code }
      const least: Options = { writeKey: 'k', endpoint: null, flushAt: null, agent: { http: null }, onFailure: null }
      const analytics = new Analytics(options)
      interface Plan { name: string; price: number }
      const plan: Plan = { name: 'pro', price: 9 }
      const maybe: string | undefined = undefined
      const call: Track = { anonymousId: 'a1', userId: maybe, event: 'Signed Up', properties: plan, timestamp: new Date() }
      const done: void = analytics.track(call)
      const callback: Callback = async (error, message: QueuedMessage) => [error?.code, message.type, message.messageId, message.json]
      analytics.track(call, callback)
      analytics.alias({ userId: 'u1', previousId: 'a1' }, (error) => error?.status)
      const listener: ErrorListener = (error, messages) => [error.code, messages.length]
      const same: Analytics = analytics.on('error', listener).once('error', listener).off('error', listener)
      const off = new Analytics({ writeKey: 'k', disable: true })
      analytics.identify({ userId: 7, traits: { plan }, context: null })
      analytics.page({ userId: 'u1', name: 'Start' })
      analytics.screen({ userId: 'u1', name: 'Cart' })
      analytics.group({ userId: 'u1', groupId: 'g1' })
      analytics.alias({ userId: 'u1', previousId: 'a1' })
      const all: Promise<void>[] = [analytics.room(), analytics.flush(), analytics.close()]
      const code = (error: unknown) => error instanceof AnalyticsError && error.code === 'queue_full' && error.calls
    `
    expect(await compile(program)).toBe('')
  })

  test('refuse what they refuse', patience, async () => {
    const wrong = [
      'new Analytics({})',
      "new Analytics({ writeKey: 'k', flushInterval: 5 })",
      'analytics.identify({ traits: {} })',
      "analytics.track({ userId: 'u1' })",
      "analytics.track({ userId: 'u1', event: 'e', propertes: {} })",
      "analytics.track({ userId: 'u1', event: 'e', properties: 'p' })",
      "analytics.group({ userId: 'u1' })",
      "analytics.alias({ userId: 'u1' })",
      "analytics.page({ userId: 'u1' }, 'callback')",
      "analytics.on('drained', () => {})",
    ]
    const program = `import { Analytics } from 'sluice-analytics'\nconst analytics = new Analytics({ writeKey: 'k' })\n${wrong.join('\n')}\n`
    const lines = [...(await compile(program)).matchAll(/^program\.ts\((\d+),/gm)].map(([, line]) =>
      Number(line),
    )
    expect(lines).toEqual(wrong.map((_, index) => index + 3))
  })
})
