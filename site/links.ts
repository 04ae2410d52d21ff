import { posix } from 'node:path'

/** `base`: where the site is served, such as `/docs/`. */
export type Built = { base: string; files: ReadonlySet<string>; pages: ReadonlyMap<string, string> }

/** Paths of control beside the site. */
const BESIDE = ['api/']

/** @returns links of pages to missing files or headings, as `page: link`. */
export function brokenLinks(built: Built): string[] {
  const anchors = new Map([...built.pages].map(([page, html]) => [page, idsIn(html)]))
  return [...built.pages].flatMap(([page, html]) =>
    [...html.matchAll(/<[a-z][^>]*? (?:href|src)="([^"]*)"/g)]
      .map(([, link = '']) => link.replaceAll('&amp;', '&'))
      .filter((link) => !/^(https?:|data:|mailto:)/.test(link) && !leads(page, link, { ...built, anchors }))
      .map((link) => `${page}: ${link}`),
  )
}

const idsIn = (html: string) => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id))

type Known = Built & { anchors: ReadonlyMap<string, ReadonlySet<string>> }

function leads(page: string, link: string, { base, files, anchors }: Known): boolean {
  const [path = '', anchor] = link.split('#')
  if (BESIDE.includes(path.slice(base.length)) && path.startsWith(base)) return true
  const file =
    path === ''
      ? page
      : fileAt(path.startsWith('/') ? path : posix.join(base, posix.dirname(page), path), base)
  if (file === undefined || !files.has(file)) return false
  return (
    anchor === undefined || anchor === '' || (anchors.get(file)?.has(decodeURIComponent(anchor)) ?? false)
  )
}

function fileAt(path: string, base: string): string | undefined {
  if (!path.startsWith(base)) return undefined
  const name = path.slice(base.length)
  return name === '' || name.endsWith('/') ? `${name}index.html` : name
}
