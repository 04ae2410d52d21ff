import { readFileSync } from 'node:fs'
import { transformerStyleToClass } from '@shikijs/transformers'
import { defineConfig } from 'vitepress'
import type { Staged } from './build.ts'
import { finish, LICENSES } from './finish.ts'
import { slugOf } from './markdown.ts'
import { accessibleSearchBox } from './search-box.ts'

// the content security policy forbids `style` attributes
const styleToClass = transformerStyleToClass()

/** The interactive description was at /docs before the site. */
const OLD_BOOKMARKS = `if (location.hash.startsWith('#/') && location.pathname.endsWith('/docs/')) location.replace('api/' + location.hash)`

const { base, repository, sidebar }: Staged = JSON.parse(
  readFileSync(new URL('.pages/site.json', import.meta.url), 'utf8'),
)
/** Only control has the interactive description. */
const explorer = base === '/docs/' ? [{ text: 'Try the API', link: '/api/', target: '_self' }] : []

export default defineConfig({
  title: 'Sluice',
  description: 'Documentation of Sluice, which forwards analytics calls to webhooks',
  lang: 'en',
  base,
  srcDir: '.pages',
  cacheDir: '../node_modules/.cache/sluice-site',
  // addresses on the reader's machine
  ignoreDeadLinks: 'localhostLinks',
  // otherwise the theme switch inserts a style
  appearance: { disableTransition: false },
  head: [
    ['link', { rel: 'icon', href: 'data:,' }],
    ['script', {}, OLD_BOOKMARKS],
  ],
  markdown: {
    html: false,
    attrs: false,
    anchor: { slugify: slugOf },
    codeTransformers: [styleToClass],
    config(md) {
      // Vue would evaluate {{ }} in texts
      const render = md.renderer.render.bind(md.renderer)
      md.renderer.render = (...given) => render(...given).replaceAll('{{', '&#123;&#123;')
    },
  },
  // pages have dozens of links, and control limits requests of strangers
  router: { prefetchLinks: false },
  vite: {
    plugins: [accessibleSearchBox()],
    // the search index is one file
    build: { license: { fileName: LICENSES }, chunkSizeWarningLimit: 2_000 },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [...explorer, { text: 'Repository', link: repository }],
    sidebar,
    outline: [2, 3],
    externalLinkIcon: true,
    editLink: { pattern: ({ frontmatter }) => frontmatter.edit, text: 'Edit this page' },
  },
  async buildEnd({ outDir, site }) {
    await finish({ folder: outDir, base: site.base, codeStyles: styleToClass.getCSS() })
  },
})
