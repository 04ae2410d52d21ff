import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { SETTINGS } from '../../config.ts'
import { DEAD_REASONS } from '../../delivery/ladder.ts'

/** Installed or built. */
const NOT_OURS = /(^|\/)(node_modules|dist|\.git|\.sluice|\.pages)$/
const files = globSync('**/*', { exclude: (path) => NOT_OURS.test(path) })
const documents = files.filter((path) => /^([A-Z]+\.md|(docs|ops)\/.*\.md)$/.test(path))
/** Decisions and the changelog use the names of their time. */
const ofToday = documents.filter((path) => !/^(CHANGELOG\.md|docs\/decisions\/\d)/.test(path))
const read = (path: string) => readFileSync(path, 'utf8')

test('documents name files and folders that exist, in full or by the end of their path', () => {
  const named = ofToday.flatMap((from) =>
    [...read(from).matchAll(/`(\w[\w./-]*(?:\.(?:ts|md|avsc|json|yaml)|\/))`/g)].map(([, path = '']) => ({
      from,
      path,
    })),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ path }) => !isThere(path))).toEqual([])
})

test('the hop table names the file of each hop, and the tests that show it', () => {
  const rows = section(read('ARCHITECTURE.md'), 'Hop by hop')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
  expect(rows.length).toBeGreaterThan(5)
  for (const row of rows) {
    const cells = row.split(' | ')
    expect(cells[1], row).toMatch(/^`[\w/-]+\.ts`$/)
    expect(cells.at(-1), row).toMatch(/`test\/[\w./-]+\.test\.ts`/)
  }
})

test('links between documents lead to files and headings that exist', () => {
  const broken = documents.flatMap((from) =>
    [...read(from).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
      .map(([, to = '']) => to)
      .filter((to) => !leadsSomewhere(from, to))
      .map((to) => `${from}: ${to}`),
  )
  expect(broken).toEqual([])
})

test('comments name sections and decisions that exist', () => {
  const named = files
    .filter((path) => /\.(tsx?|ya?ml)$/.test(path))
    .flatMap((path) =>
      [...read(path).matchAll(SECTION)].map(([, file = '', heading = '']) => ({ path, file, heading })),
    )
  const missing = named.filter(({ file, heading }) => !hasSection(file, heading))
  expect(named.length).toBeGreaterThan(20)
  expect(missing).toEqual([])
})

test('documents quote log messages that the code has', () => {
  const source = files
    .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('test/'))
    .map((path) => read(path).replaceAll(/\s+/g, ' '))
  const quoted = ofToday.flatMap((path) =>
    [...prose(path).matchAll(/"([^"]+?)( \.\.\.)?"/g)].map(([, words = '']) => ({ path, words })),
  )
  const messages = quoted.filter(({ words }) => words.split(' ').length >= 3)
  expect(messages.length).toBeGreaterThan(5)
  expect(messages.filter(({ words }) => !source.some((text) => text.includes(words)))).toEqual([])
})

test('the reference has each setting, and each reason of a dead letter', () => {
  const named = (path: string) => new Set([...read(path).matchAll(/`(\w+)`/g)].map(([, name]) => name))
  const settings = SETTINGS.filter((name) => !name.startsWith('OTEL_'))
  expect(settings.filter((name) => !named('docs/reference/settings.md').has(name))).toEqual([])
  expect(DEAD_REASONS.filter((reason) => !named('docs/reference/codes.md').has(reason))).toEqual([])
})

test('the page of attacks counts the rows of those that still work', () => {
  const page = read('docs/security.md')
  const [, counted] = page.match(/(\d+) rows say that an attack\s\*\*still works\*\*/) ?? []
  expect(Number(counted)).toBe(page.match(/^\|.*\*\*still works:?\*\*/gim)?.length)
})

describe('a reader', () => {
  const words = (path: string) => read(path).split(/\s+/).length

  test('gets through README and ARCHITECTURE quickly', () => {
    expect(words('README.md')).toBeLessThanOrEqual(1_200)
    expect(words('ARCHITECTURE.md')).toBeLessThanOrEqual(2_500)
  })

  test.each([
    ['docs/README.md', ofToday.filter((path) => /^(docs|ops)\//.test(path))],
    ['docs/decisions/README.md', documents.filter((path) => /^docs\/decisions\/\d/.test(path))],
  ])('finds every page in the index %s', (index, pages) => {
    const linked = [...read(index).matchAll(/\]\(([^)#]+)/g)].map(([, to = '']) => join(dirname(index), to))
    expect(pages.filter((page) => page !== index && !linked.includes(page))).toEqual([])
  })

  test('sees lines of at most 120 characters, but for tables, code and addresses', () => {
    const long = ofToday.flatMap((path) =>
      withoutCode(read(path))
        .split('\n')
        .filter(
          (line) => line.length > 120 && !/^(\||\[[\w-]+\]: )/.test(line) && /\S\s+\S/.test(line.trim()),
        )
        .map((line) => `${path}: ${line}`),
    )
    expect(long).toEqual([])
  })
})

/** Without code and line ends. */
const prose = (path: string) =>
  withoutCode(read(path))
    .replaceAll(/`[^`]*`/g, '')
    .replaceAll(/\s+/g, ' ')
const withoutCode = (text: string) => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')

/** `docs/guides/sources.md, "Rate limits"`, or `docs/decisions/009`. */
const SECTION =
  /\b(README|ARCHITECTURE|docs\/(?:[\w-]+\/)*[\w-]+\.md|docs\/decisions\/\d+)(?:,\s+(?:[*#] )?"([^"]+)")?/g

function hasSection(file: string, heading: string): boolean {
  const [path] = files.filter((each) => each.startsWith(file) && each.endsWith('.md'))
  if (path === undefined) return false
  return heading === '' || ['##', '###'].some((level) => read(path).includes(`\n${level} ${heading}\n`))
}

function isThere(path: string): boolean {
  if (existsSync(path)) return true
  const ending = `/${path.replace(/\/$/, '')}`
  return files.some((file) => file.endsWith(ending))
}

function leadsSomewhere(from: string, to: string): boolean {
  const [path = '', heading] = to.split('#')
  const file = path === '' ? from : join(dirname(from), path)
  if (!existsSync(file)) return false
  return heading === undefined || !file.endsWith('.md') || headingsOf(file).includes(heading)
}

const headingsOf = (file: string) =>
  [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, words = '']) =>
    words
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

const section = (text: string, heading: string) => text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
