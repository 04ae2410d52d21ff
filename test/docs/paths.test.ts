import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

/** Without what is installed or built. */
const NOT_OURS = /(^|\/)(node_modules|dist|\.git|\.sluice)$/
const files = globSync('**/*', { exclude: (path) => NOT_OURS.test(path) })
const documents = files.filter((path) => /^([A-Z]+\.md|(docs|ops)\/.*\.md)$/.test(path))
const read = (path: string) => readFileSync(path, 'utf8')

describe('ARCHITECTURE.md', () => {
  const text = read('ARCHITECTURE.md')

  test('names files and folders that there are, in full or by the end of their path', () => {
    const named = [...text.matchAll(/`([\w./-]+(?:\.(?:ts|md|avsc|json|yaml)|\/))`/g)].map(
      ([, path = '']) => path,
    )
    const missing = named.filter((path) => !isThere(path))
    expect(named.length).toBeGreaterThan(100)
    expect(missing).toEqual([])
  })

  test('says of each hop which file does it, and which tests show it', () => {
    const rows = section(text, 'Hop by hop')
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
})

test('links from one document to another lead to files and headings that there are', () => {
  const broken = documents.flatMap((from) =>
    [...read(from).matchAll(/\]\((?!https?:|#)([^)\s]+)\)/g)]
      .map(([, to = '']) => to)
      .filter((to) => !leadsSomewhere(from, to))
      .map((to) => `${from}: ${to}`),
  )
  expect(broken).toEqual([])
})

test('comments name sections and decisions that there are', () => {
  const named = files
    .filter((path) => /\.tsx?$/.test(path))
    .flatMap((path) =>
      [...read(path).matchAll(SECTION)].map(([, file = '', heading = '']) => ({ path, file, heading })),
    )
  const missing = named.filter(({ file, heading }) => !hasSection(file, heading))
  expect(named.length).toBeGreaterThan(20)
  expect(missing).toEqual([])
})

/** `README, "Settings"`, or `docs/decisions/009`. */
const SECTION = /\b(README|ARCHITECTURE|docs\/(?:[\w-]+\/)*[\w-]+\.md|docs\/decisions\/\d+)(?:,\s+(?:\* )?"([^"]+)")?/g

function hasSection(file: string, heading: string): boolean {
  const [path] = files.filter((each) => each.startsWith(file) && each.endsWith('.md'))
  return path !== undefined && (heading === '' || read(path).includes(`\n## ${heading}\n`))
}

function isThere(path: string): boolean {
  if (existsSync(path)) return true
  const ending = `/${path.replace(/\/$/, '')}`
  return files.some((file) => file.endsWith(ending))
}

function leadsSomewhere(from: string, to: string): boolean {
  const [path = '', heading] = to.split('#')
  const file = join(dirname(from), path)
  if (!existsSync(file)) return false
  return heading === undefined || !file.endsWith('.md') || headingsOf(file).includes(heading)
}

/** As they are linked to on the pages that show Markdown. */
const headingsOf = (file: string) =>
  [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, words = '']) =>
    words
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

const section = (text: string, heading: string) => text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
