import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { compareVersions, type Facts, FILES, notesOf, planRelease } from '../../.ci/release/plan.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

/** The version in the texts below. */
const current = '0.1.0'
const CHANGES =
  '# Changelog\n\n## Unreleased\n\n### Upgrade\n- Do this.\n\n## 0.0.1 - 2025-01-01\n\n- First.\n'
const files = new Map(
  FILES.map((path) => [
    path,
    path.endsWith('CHANGELOG.md') ? CHANGES : readFileSync(path, 'utf8').replaceAll(version, current),
  ]),
)
const facts: Facts = {
  version: '1.0.0',
  now: new Date('2026-03-04T23:59:59Z'),
  branch: 'main',
  unclean: [],
  tags: [],
  files,
}
const withFile = (path: string, text: string) => new Map([...files, [path, text]])

describe('a release', () => {
  const { faults, writes, tags } = planRelease(facts)
  const written = (path: string) => writes.get(path) ?? ''

  test('is possible from this repository', () => {
    expect(faults).toEqual([])
  })

  test('finds the section of unreleased changes in each changelog of this repository', () => {
    for (const path of FILES.filter((each) => each.endsWith('CHANGELOG.md')))
      expect(readFileSync(path, 'utf8')).toContain('\n## Unreleased\n')
  })

  test('has a tag for Sluice, and one for the Go module', () => {
    expect(tags).toEqual(['v1.0.0', 'clients/go/v1.0.0'])
  })

  test('sets the version of every package, but not of dependencies', () => {
    expect(JSON.parse(written('package.json'))).toEqual({
      ...JSON.parse(files.get('package.json') ?? ''),
      version: '1.0.0',
    })
    const [before, after] = [files.get('package-lock.json') ?? '', written('package-lock.json')].map((text) =>
      JSON.parse(text),
    )
    expect([after.version, after.packages[''].version]).toEqual(['1.0.0', '1.0.0'])
    delete before.packages['']
    delete after.packages['']
    expect(after.packages).toEqual(before.packages)
    expect(JSON.parse(written('clients/node/package.json')).version).toBe('1.0.0')
    expect(written('clients/node/library.ts')).toContain("version: '1.0.0'")
    expect(written('clients/go/batch.go')).toContain('const Version = "1.0.0"')
  })

  test('leaves no other version in the documentation', () => {
    for (const [path, text] of writes)
      if (path.endsWith('README.md')) expect(text, path).not.toContain(current)
  })

  test('dates the unreleased changes, and starts an empty section', () => {
    for (const path of FILES.filter((each) => each.endsWith('CHANGELOG.md'))) {
      const changes = files.get(path)?.split('## Unreleased\n')[1]
      expect(written(path)).toContain(`## Unreleased\n\n## 1.0.0 - 2026-03-04\n${changes}`)
    }
  })

  test('keeps a copy of its schemas, because later versions must read its records', () => {
    const names = ['attempt', 'delivery', 'event', 'rejected']
    for (const name of names)
      expect(written(`test/schemas/released/1.0.0/${name}.avsc`)).toBe(files.get(`schemas/${name}.avsc`))
  })

  test('has its changelog section as notes', () => {
    expect(notesOf(written('CHANGELOG.md'), '1.0.0')).toMatch(/^### Upgrade\n/)
    expect(notesOf(written('CHANGELOG.md'), '1.0.1')).toBeUndefined()
    expect(notesOf('## 1.1.0 - 2026-01-01\n\n- One.\n\n## 1.0.0 - 2025-01-01\n\n- Two.\n', '1.1.0')).toBe(
      '- One.',
    )
  })
})

test('a library without changes says so', () => {
  const path = 'clients/go/CHANGELOG.md'
  const text = '# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2025-01-01\n\n- First.\n'
  const { writes } = planRelease({ ...facts, files: withFile(path, text) })
  expect(writes.get(path)).toBe(
    '# Changelog\n\n## Unreleased\n\n## 1.0.0 - 2026-03-04\n\n- No changes.\n\n## 0.1.0 - 2025-01-01\n\n- First.\n',
  )
})

test.each<[string, Partial<Facts>, RegExp]>([
  ['what is not a version', { version: '1.0' }, /"1.0" is not a version/],
  ['a leading v', { version: 'v1.0.0' }, /"v1.0.0" is not a version/],
  ['an older version than the current one', { version: '0.0.9' }, /0.0.9 is older than/],
  ['an older version than a tag', { tags: ['v1.2.0'] }, /1.0.0 is older than 1.2.0/],
  ['a candidate of a released version', { version: '1.0.0-rc.2', tags: ['v1.0.0'] }, /older than 1.0.0/],
  ['a version that has a tag', { tags: ['clients/go/v1.0.0'] }, /The tag clients\/go\/v1.0.0 already exists/],
  ['a major version that Go finds nowhere', { version: '2.0.0' }, /must end in \/v2/],
  ['another branch', { branch: 'next' }, /from main, not from next/],
  ['no branch', { branch: '' }, /from main, not from a detached commit/],
  ['files that are not committed', { unclean: ['a.ts', 'b.ts'] }, /a.ts, b.ts/],
  [
    'nothing new',
    { files: withFile('CHANGELOG.md', '# C\n\n## Unreleased\n\n## 0.1.0 - x\n') },
    /"Unreleased" is empty/,
  ],
  ['no section', { files: withFile('CHANGELOG.md', '# C\n') }, /there is no section "Unreleased"/],
  ['a file without the version', { files: withFile('clients/go/batch.go', '') }, /batch.go does not contain/],
])('%s is refused', (_, given, fault) => {
  expect(planRelease({ ...facts, ...given }).faults).toEqual([expect.stringMatching(fault)])
})

test('versions are ordered, and a release comes after its candidates', () => {
  const version = fc.tuple(fc.nat(3), fc.nat(3), fc.nat(12), fc.option(fc.integer({ min: 1, max: 12 })))
  const text = ([major, minor, patch, candidate]: [number, number, number, number | null]) =>
    `${major}.${minor}.${patch}${candidate === null ? '' : `-rc.${candidate}`}`
  fc.assert(
    fc.property(version.map(text), version.map(text), version.map(text), (a, b, c) => {
      expect(Math.sign(compareVersions(a, b))).toBe(0 - Math.sign(compareVersions(b, a)))
      expect(compareVersions(a, b) === 0).toBe(a === b)
      if (compareVersions(a, b) < 0 && compareVersions(b, c) < 0)
        expect(compareVersions(a, c)).toBeLessThan(0)
      if (!a.includes('-')) expect(compareVersions(`${a}-rc.1`, a)).toBeLessThan(0)
    }),
  )
})

describe('the command', () => {
  const program = join(process.cwd(), '.ci/release/main.ts')
  let folder = ''
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
  const release = (...args: string[]) =>
    execFileSync(process.execPath, [program, ...args], { cwd: folder, encoding: 'utf8' })

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-test-'))
    const created = folder
    onTestFinished(() => rmSync(created, { recursive: true }))
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text.replace(/"check": ".*"/, '"check": "true"'))
    }
    git('init', '--quiet', '--initial-branch', 'main')
    for (const [name, value] of [
      ['user.name', 'Test'],
      ['user.email', 'test@localhost'],
      ['commit.gpgSign', 'false'],
      ['tag.gpgSign', 'false'],
    ] as const)
      git('config', name, value)
    git('add', '--all')
    git('commit', '--quiet', '--message', 'Before')
  })

  test('prints its usage for an unknown option, or without exactly one version', () => {
    const usage = release('--help')
    expect(usage).toMatch(/^npm run release -- VERSION /)
    for (const [args, reason] of [
      [['--nonesuch'], "Unknown option '--nonesuch'"],
      [[], 'Give one VERSION'],
      [['1.0.0', '1.0.1'], 'Give one VERSION'],
    ] as const)
      expect(() => release(...args)).toThrow(
        expect.objectContaining({ status: 2, stdout: '', stderr: `${reason}\n\n${usage}` }),
      )
  })

  test('changes nothing without --apply, and says what it would change', () => {
    const output = release('1.0.0')
    expect(output).toContain('writes CHANGELOG.md\n')
    expect(output).toContain('tags clients/go/v1.0.0\n')
    expect(output).toMatch(/Nothing has changed/)
    expect([git('status', '--porcelain'), git('tag')]).toEqual(['', ''])
  })

  test('commits and tags with --apply, and pushes nothing', () => {
    expect(release('1.0.0', '--apply')).toContain('git push --atomic origin main v1.0.0 clients/go/v1.0.0\n')
    expect(git('status', '--porcelain')).toBe('')
    expect(git('log', '--format=%s')).toBe('Release 1.0.0\nBefore')
    expect(git('tag', '--points-at', 'HEAD').split('\n').sort()).toEqual(['clients/go/v1.0.0', 'v1.0.0'])
    expect(release('1.0.0', '--notes')).toMatch(/^### Upgrade\n/)
    expect(() => release('1.0.0')).toThrow(/Command failed/)
  })

  test('refuses uncommitted files', () => {
    writeFileSync(join(folder, 'left.txt'), '')
    expect(() => release('1.0.0', '--apply')).toThrow(
      expect.objectContaining({ status: 1, stdout: expect.stringContaining('left.txt') }),
    )
    expect(git('tag')).toBe('')
  })
})
