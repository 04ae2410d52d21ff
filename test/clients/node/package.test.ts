import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startService } from './service.ts'

const exec = promisify(execFile)
const source = fileURLToPath(new URL('../../../clients/node/', import.meta.url))
const tsc = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url))
const patience = { timeout: 60_000 }

let app = ''

/** An application that has the packed package installed, outside of this project. */
beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'sluice-client-'))
  await exec('npm', ['pack', '--pack-destination', app], { cwd: source })
  const [tarball = ''] = (await readdir(app)).filter((name) => name.endsWith('.tgz'))
  await writeFile(join(app, 'package.json'), '{ "private": true, "type": "module" }')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund']
  await exec('npm', ['install', ...quiet, `./${tarball}`], { cwd: app })
}, 60_000)

afterAll(async () => {
  await rm(app, { recursive: true, force: true })
  await rm(join(source, 'dist'), { recursive: true, force: true })
})

test('the package has its code, its types and its README, and nothing else', async () => {
  const names = await readdir(join(app, 'node_modules/sluice-analytics'))
  expect(names.sort()).toEqual(['README.md', 'dist', 'package.json'])
  const built = await readdir(join(app, 'node_modules/sluice-analytics/dist'))
  expect(built.filter((name) => !/\.(js|d\.ts)$/.test(name))).toEqual([])
  expect(built).toEqual(expect.arrayContaining(['index.js', 'index.d.ts']))
})

test('the first example sends its calls, and ends', patience, async () => {
  const service = await startService()
  await copyFile(join(source, 'examples/first-call.js'), join(app, 'first-call.js'))
  const env = { ...process.env, WRITE_KEY: 'its-write-key', ENDPOINT: service.endpoint }
  const { stdout, stderr } = await exec(process.execPath, ['first-call.js'], { cwd: app, env })
  expect([stdout, stderr]).toEqual(['', ''])
  expect(service.arrivals.map(({ headers }) => headers.authorization)).toEqual([
    `Basic ${btoa('its-write-key:')}`,
  ])
  expect(service.calls()).toMatchObject([
    { type: 'identify', userId: 'u1', traits: { email: 'ada@example.com' } },
    { type: 'track', userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' } },
  ])
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

  /** What the compiler says to a program of the application, with nothing but the package's own types. */
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
      import { Analytics, AnalyticsError, type Failure, type Options, type Track } from 'sluice-analytics'
      const options: Options = { writeKey: 'k', onFailure: ({ error, messages }: Failure) => [error.code, messages[0]?.json] }
      const analytics = new Analytics(options)
      interface Plan { name: string; price: number }
      const plan: Plan = { name: 'pro', price: 9 }
      const maybe: string | undefined = undefined
      const call: Track = { anonymousId: 'a1', userId: maybe, event: 'Signed Up', properties: plan, timestamp: new Date() }
      const done: void = analytics.track(call)
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
    ]
    const program = `import { Analytics } from 'sluice-analytics'\nconst analytics = new Analytics({ writeKey: 'k' })\n${wrong.join('\n')}\n`
    const lines = [...(await compile(program)).matchAll(/^program\.ts\((\d+),/gm)].map(([, line]) =>
      Number(line),
    )
    expect(lines).toEqual(wrong.map((_, index) => index + 3))
  })
})
