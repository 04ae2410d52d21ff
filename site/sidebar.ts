import { posix } from 'node:path'
import type { GeneratedPage, Page } from './pages.ts'

export type SidebarItem = { text: string; link?: string; items?: SidebarItem[]; collapsed?: boolean }

type Sources = {
  pages: readonly Pick<Page, 'path' | 'text'>[]
  generated: readonly GeneratedPage[]
}

/** The index by its sections: docs/README.md is the one list of pages. */
export function sidebarOf({ pages, generated }: Sources): SidebarItem[] {
  const textOf = (path: string) => pages.find((page) => page.path === path)?.text ?? ''
  const below = new Map([['/decisions/', linksIn(textOf('decisions/index.md'), 'decisions')]])
  for (const { path } of generated.filter((page) => page.path.endsWith('/index.md')))
    below.set(linkOf(path), childrenOf(path, generated))
  return textOf('index.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.split('\n', 1)[0] ?? '',
      collapsed: false,
      items: linksIn(section, '.').map((item) => {
        const items = below.get(item.link ?? '')
        return items ? { ...item, items, collapsed: true } : item
      }),
    }))
}

const linkOf = (path: string) => `/${path.replace(/(^|\/)index\.md$|\.md$/, '$1')}`

const childrenOf = (index: string, generated: readonly GeneratedPage[]) =>
  generated
    .filter(({ path }) => path !== index && posix.dirname(path) === posix.dirname(index))
    .map(({ path, title }) => ({ text: title.split(': ').at(-1) ?? title, link: linkOf(path) }))

function linksIn(text: string, folder: string): SidebarItem[] {
  const links = [...text.matchAll(/\[([^\]]+)\]\((\.[^)#\s]+\.md)[^)]*\)/g)]
  const items = links.map(([, words = '', to = '']) => ({
    text: words.replaceAll('`', '').replaceAll(/\s+/g, ' '),
    link: linkOf(posix.join(folder, to)),
  }))
  return items.filter(({ link }, at) => items.findIndex((item) => item.link === link) === at)
}
