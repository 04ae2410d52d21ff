import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'
import { filesIn } from './finish.ts'
import { brokenLinks } from './links.ts'
import { collect, INDEX, type Repository } from './pages.ts'
import { REFERENCE_SECTION, references } from './reference/references.ts'
import { type SidebarItem, sidebarOf } from './sidebar.ts'

const ROOM = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The input of VitePress, copied or generated. */
const STAGED = join(ROOM, '.pages')

type BuildOptions = {
  /** Where the site is served, with a slash at each end. */
  base?: string
  /** Default: site/dist. */
  folder?: string
}

/** `broken`: links that lead nowhere. */
export async function buildSite({ base = '/docs/', folder = join(ROOM, 'dist') }: BuildOptions) {
  await stage(base)
  await build(ROOM, { outDir: folder })
  const files = filesIn(folder)
  const pages = new Map(
    files
      .filter((name) => name.endsWith('.html'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )
  return { folder, pages: pages.size, broken: brokenLinks({ base, files: new Set(files), pages }) }
}

/** For `config.ts`, which VitePress loads itself. */
export type Staged = { base: string; repository: string; sidebar: SidebarItem[] }

async function stage(base: string): Promise<void> {
  rmSync(STAGED, { recursive: true, force: true })
  const { pages, files } = collect(repository)
  const generated = await references(ROOT)
  const withReferences = pages.map((page) =>
    page.source === INDEX
      ? { ...page, text: page.text.replace(/^(?=## Understand)/m, `${REFERENCE_SECTION}\n\n`) }
      : page,
  )
  for (const { path, text, source } of withReferences)
    write(path, `---\nedit: ${repository.url}/edit/main/${source}\n---\n\n${text}`)
  for (const { path, text } of generated.pages) write(path, `---\neditLink: false\n---\n\n${text}\n`)
  for (const [path, text] of generated.files) write(`public/${path}`, text)
  for (const [source, path] of files) {
    // pictures are part of pages; other files are links
    const to = join(STAGED, path.endsWith('.png') ? '' : 'public', path)
    mkdirSync(dirname(to), { recursive: true })
    copyFileSync(join(ROOT, source), to)
  }
  const sidebar = sidebarOf({ pages: withReferences, generated: generated.pages })
  write('site.json', JSON.stringify({ base, repository: repository.url, sidebar } satisfies Staged))
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(STAGED, path)), { recursive: true })
  writeFileSync(join(STAGED, path), text)
}

const repository: Repository = {
  url: repositoryUrl(),
  read: (path) => readFileSync(join(ROOT, path), 'utf8'),
  exists: (path) => existsSync(join(ROOT, path)),
  isFolder: (path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.isDirectory() ?? false,
}

function repositoryUrl(): string {
  const { homepage } = JSON.parse(readFileSync(join(ROOT, 'clients/node/package.json'), 'utf8'))
  return String(homepage).replace(/\/tree\/.*$/, '')
}
