import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MALLOC_ENV, NODE_FLAGS } from '../../harness/launch.ts'
import { configOf } from './settings.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFile(join(root, file), 'utf8')
const { devDependencies, dependencies } = JSON.parse(await read('package.json'))
const dockerfile = (await read('Dockerfile')).replace(/\\\n/g, ' ')
const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
const first = dockerfile.slice(0, dockerfile.indexOf('\nFROM ', dockerfile.indexOf('FROM ') + 1))

// a machine may lack it; .ci/run installs it (requirements.txt)
const hasHadolint = spawnSync('hadolint', ['--version']).status === 0

/** Without those from other stages. */
const copies = (stage: string) =>
  [...stage.matchAll(/^COPY (?!--)(.+)$/gm)].map(([, words = '']) => {
    const paths = words.trim().split(/\s+/)
    return { sources: paths.slice(0, -1), target: paths.at(-1) ?? '' }
  })

/** Follows imports and reads, except imports of types. */
async function reached(files: readonly string[]) {
  const own = new Set(files)
  const packages = new Set<string>()
  for (const file of own) {
    if (!/\.tsx?$/.test(file)) continue
    const code = (await read(file)).replace(/^(import|export) type [^']*'[^']+'/gm, '')
    const named = [
      ...code.matchAll(/(?:\bfrom |\bimport |\bimport\()'([^']+)'|new URL\('([^']+)', import\.meta/g),
    ]
    for (const [, imported, beside] of named) {
      const name = imported ?? (beside ? `./${beside}` : '')
      if (name.startsWith('.')) own.add(join(dirname(file), name))
      else if (!name.startsWith('node:')) packages.add(name.split('/', name[0] === '@' ? 2 : 1).join('/'))
    }
  }
  return { own: [...own], packages: [...packages] }
}

test('the image has the Node, the flags and the malloc arena of npm start', () => {
  const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?node:([\d.]+)-/gm)].map(
    ([, version]) => version,
  )
  expect(bases).toHaveLength([...dockerfile.matchAll(/^FROM /gm)].length)
  expect(new Set(bases)).toEqual(new Set([devDependencies.node]))
  expect(dockerfile.match(/^ENTRYPOINT .*/m)?.[0].match(/--[^"]+/g)).toEqual(NODE_FLAGS)
  expect(MALLOC_ENV).toEqual({ MALLOC_ARENA_MAX: '1' })
  expect(last).toMatch(/^ENV MALLOC_ARENA_MAX=1$/m)
})

test('images of others are named by version and digest', async () => {
  const named = [
    ...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm),
    ...(await read('.devcontainer/Dockerfile')).matchAll(/^FROM (\S+)/gm),
    ...(await read('docker-compose.yml')).matchAll(/ image: (\S+)/g),
  ]
  const images = named.map(([, image]) => image).filter((image) => image !== 'sluice')
  expect(images.length).toBeGreaterThan(7)
  for (const image of images) expect(image).toMatch(/^[\w./-]+:v?[\w.-]+@sha256:[0-9a-f]{64}$/)
})

test('what it is made of is there, and not kept out', async () => {
  const kept = (await read('.dockerignore')).split('\n').filter((line) => line && !line.startsWith('#'))
  const sources = copies(dockerfile).flatMap(({ sources }) => sources)
  expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([])
  const isKept = (path: string) =>
    kept.some((pattern) => matchesGlob(path, pattern) || path.startsWith(`${pattern}/`))
  expect(sources.filter(isKept)).toEqual([])
})

const isIn = (stage: string) => (file: string) =>
  copies(stage).some(({ sources }) => sources.some((path) => file === path || file.startsWith(`${path}/`)))

test('its stage for the console has all that is bundled into that, and what bundles it', async () => {
  const { own } = await reached(['console/src/main.tsx', 'console/vite.config.ts'])
  expect(own.length).toBeGreaterThan(100)
  expect(own.filter((file) => !isIn(first)(file))).toEqual([])
})

test('it has all that its programs import, and no package that is for tests alone', async () => {
  const programs = ['ingest', 'router', 'deliverer', 'control', 'cli'].map((name) => `${name}/main.ts`)
  const { own, packages } = await reached(programs)
  expect(own.length).toBeGreaterThan(200)
  // all files, and what another stage has built
  const others = ['.', 'console/dist', 'site/dist']
  expect(own.filter((file) => !others.includes(file) && !isIn(last)(file))).toEqual([])
  expect(packages.filter((name) => !(name in dependencies))).toEqual([])
})

test('the build does not see secrets in .env', async () => {
  expect((await read('.dockerignore')).split('\n')).toEqual(expect.arrayContaining(['.env', '.env.*']))
})

test('the CLI in the image finds control', () => {
  const env = {
    KAFKA_BROKERS: 'kafka:9092',
    SCHEMA_REGISTRY_URL: 'http://registry',
    CONFIG_KEY: '',
    CONTROL_TOKEN: '',
  }
  const { port } = configOf('control', env)
  expect(last).toMatch(new RegExp(`^ENV SLUICE_URL=http://127.0.0.1:${port}$`, 'm'))
})

test('no stage runs commands on the target platform, so no build needs emulation', () => {
  const stages = dockerfile.split(/^(?=FROM )/m).filter((stage) => stage.startsWith('FROM '))
  expect(stages.length).toBe(4)
  for (const stage of stages)
    if (/^RUN /m.test(stage)) expect(stage).toMatch(/^FROM --platform=\$BUILDPLATFORM /)
})

test('it runs as nobody who could write, and its programs listen for signals themselves', () => {
  expect(last).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
  // without a shell, which would keep signals from it
  expect(last).toMatch(/^ENTRYPOINT \["node", /m)
})

test.skipIf(!hasHadolint)('the linter of Dockerfiles has nothing against ours', () => {
  expect(
    spawnSync('hadolint', ['Dockerfile', '.devcontainer/Dockerfile'], { cwd: root, encoding: 'utf8' }).stdout,
  ).toBe('')
})
