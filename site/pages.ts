import { posix } from 'node:path'
import { inProse } from './markdown.ts'

/** Links to files outside the site lead here. */
export type Repository = {
  url: string
  read(path: string): string
  isFolder(path: string): boolean
  exists(path: string): boolean
}

/** `source`: in the repository. `path`: within the site, such as `guides/rules.md`. */
export type Page = { source: string; path: string; text: string }

export type GeneratedPage = { path: string; title: string; text: string }

export type Collected = {
  pages: readonly Page[]
  /** Pictures and descriptions that pages link to, by source. */
  files: ReadonlyMap<string, string>
}

export const INDEX = 'docs/README.md'

/** docs/ is the root. Pages of the repository's root get a folder: `SECURITY.md` is not `docs/security.md`. */
export function pathOf(source: string): string {
  const inDocs = posix.relative('docs', source)
  const path = inDocs.startsWith('..') ? (source.includes('/') ? source : `project/${source}`) : inDocs
  return path
    .toLowerCase()
    .replace(/^readme\.md$|\/readme\.md$/, (name) =>
      path.startsWith('project/') ? name : name.replace('readme', 'index'),
    )
}

/** All Markdown files that links reach from the index. */
export function collect(repository: Repository): Collected {
  const sources = [INDEX]
  const files = new Map<string, string>()
  // the list grows meanwhile
  for (const source of sources)
    for (const { target } of linksOf(source, repository.read(source))) {
      const to = pageAt(target, repository)
      if (to !== undefined && !sources.includes(to)) sources.push(to)
      if (to === undefined && isServed(target)) files.set(target, pathOf(target))
    }
  const pages = sources.map((source) => ({
    source,
    path: pathOf(source),
    text: withLinks(source, { repository, pages: new Set(sources) }),
  }))
  return { pages, files }
}

/** The site has these itself. */
const isServed = (target: string) => /^docs\/.*\.(png|svg|yaml)$/.test(target)

/** A folder's page is its README. */
function pageAt(target: string, { exists, isFolder }: Repository): string | undefined {
  const path = isFolder(target) ? posix.join(target, 'README.md') : target
  return path.endsWith('.md') && exists(path) ? path : undefined
}

const LINK = /\]\((?![a-z]+:)([^)\s#]*)(#[^)\s]*)?\)/g

function linksOf(source: string, text: string): { target: string }[] {
  const found: { target: string }[] = []
  inProse(text, (prose) => {
    for (const [, to = ''] of prose.matchAll(LINK)) if (to !== '') found.push({ target: at(source, to) })
    return prose
  })
  return found
}

const at = (source: string, to: string) => posix.join(posix.dirname(source), to).replace(/\/$/, '')

type Known = { repository: Repository; pages: ReadonlySet<string> }

function withLinks(source: string, { repository, pages }: Known): string {
  const from = posix.dirname(pathOf(source))
  return inProse(repository.read(source), (prose) =>
    prose.replaceAll(LINK, (link, to: string, anchor = '') => {
      if (to === '') return link
      const target = at(source, to)
      const page = pageAt(target, repository)
      if (page !== undefined && pages.has(page)) return `](${relative(from, pathOf(page))}${anchor})`
      // a missing document fails the build
      if (target.endsWith('.md')) return link
      if (isServed(target)) return `](${relative(from, pathOf(target))})`
      const kind = repository.isFolder(target) ? 'tree' : 'blob'
      return `](${repository.url}/${kind}/main/${target}${anchor})`
    }),
  )
}

function relative(from: string, to: string): string {
  const path = posix.relative(from, to)
  return path.startsWith('.') ? path : `./${path}`
}
