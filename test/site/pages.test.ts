import { describe, expect, test } from 'vitest'
import { inProse, slugOf } from '../../site/markdown.ts'
import { collect, pathOf, type Repository } from '../../site/pages.ts'
import { sidebarOf } from '../../site/sidebar.ts'

/** A repository with these files. */
function repositoryOf(files: Readonly<Record<string, string>>): Repository {
  const names = Object.keys(files)
  return {
    url: 'https://example.com/sluice',
    read: (path) => files[path] ?? '',
    exists: (path) => path in files,
    isFolder: (path) => names.some((name) => name.startsWith(`${path}/`)),
  }
}

test.each([
  ['docs/README.md', 'index.md'],
  ['docs/guides/rules.md', 'guides/rules.md'],
  ['docs/decisions/README.md', 'decisions/index.md'],
  ['docs/security.md', 'security.md'],
  ['SECURITY.md', 'project/security.md'],
  ['README.md', 'project/readme.md'],
  ['bench/RESULTS.md', 'bench/results.md'],
  ['clients/go/README.md', 'clients/go/index.md'],
])('the page of %s is %s', (source, path) => {
  expect(pathOf(source)).toBe(path)
})

describe('the pages', () => {
  const { pages, files } = collect(
    repositoryOf({
      'docs/README.md': '[Rules](guides/rules.md), [all](../ops), `[code](x.md)`',
      'docs/guides/rules.md':
        '[here](#limits) [back](../README.md) [limits](../../SECURITY.md#limits) [file](../../rules/run.ts) [folder](../../rules) [web](https://example.org)\n![a](../images/a.png) [topics](../topics.yaml)\n```md\n[not](a-link.md)\n```',
      'docs/images/a.png': '',
      'docs/topics.yaml': '',
      'ops/unlinked.md': 'nobody links here',
      'ops/README.md': 'operate',
      'rules/run.ts': '',
      'SECURITY.md': '[Rules](docs/guides/rules.md) [gone](ops/gone.md)',
    }),
  )
  const textOf = (path: string) => pages.find((page) => page.path === path)?.text

  test('are the documents that can be reached from the index', () => {
    expect(pages.map(({ source }) => source).toSorted()).toEqual([
      'SECURITY.md',
      'docs/README.md',
      'docs/guides/rules.md',
      'ops/README.md',
    ])
  })

  test('link to each other, also to the page of a folder', () => {
    expect(textOf('index.md')).toBe('[Rules](./guides/rules.md), [all](./ops/index.md), `[code](x.md)`')
    expect(textOf('project/security.md')).toBe('[Rules](../guides/rules.md) [gone](ops/gone.md)')
    expect(textOf('guides/rules.md')).toContain(
      '[here](#limits) [back](../index.md) [limits](../project/security.md#limits)',
    )
  })

  test('link to the repository for everything else', () => {
    expect(textOf('guides/rules.md')).toContain('[file](https://example.com/sluice/blob/main/rules/run.ts)')
    expect(textOf('guides/rules.md')).toContain('[folder](https://example.com/sluice/tree/main/rules)')
    expect(textOf('guides/rules.md')).toContain('[web](https://example.org)')
  })

  test('have their pictures and descriptions with them', () => {
    expect(textOf('guides/rules.md')).toContain('![a](../images/a.png) [topics](../topics.yaml)')
    expect([...files]).toEqual([
      ['docs/images/a.png', 'images/a.png'],
      ['docs/topics.yaml', 'topics.yaml'],
    ])
  })

  test('keep their code', () => {
    expect(textOf('guides/rules.md')).toContain('```md\n[not](a-link.md)\n```')
  })
})

test('the sidebar is the links of the index, by section, with the pages below a folder', () => {
  const pages = [
    {
      path: 'index.md',
      text: '# Docs\n[Start](./start.md)\n\n## Guides\n| [Start](./start.md) | a |\n| [The `events` topic](./events.md#x) | [Start](./start.md) |\n\n## More\n[Decisions](./decisions/index.md), [API](./api/index.md), [web](https://example.org)',
    },
    { path: 'decisions/index.md', text: '[001: One](./001-one.md)' },
  ]
  const generated = [
    { path: 'api/index.md', title: 'API', text: '' },
    { path: 'api/sources.md', title: 'API: sources', text: '' },
  ]
  expect(sidebarOf({ pages, generated })).toEqual([
    {
      text: 'Guides',
      collapsed: false,
      items: [
        { text: 'Start', link: '/start' },
        { text: 'The events topic', link: '/events' },
      ],
    },
    {
      text: 'More',
      collapsed: false,
      items: [
        {
          text: 'Decisions',
          link: '/decisions/',
          collapsed: true,
          items: [{ text: '001: One', link: '/decisions/001-one' }],
        },
        { text: 'API', link: '/api/', collapsed: true, items: [{ text: 'sources', link: '/api/sources' }] },
      ],
    },
  ])
})

test.each([
  ['Add a setting to destinations', 'add-a-setting-to-destinations'],
  ['10 % of page views', '10--of-page-views'],
  ['The `events` topic', 'the-events-topic'],
  ['What a client can do, and `X-Requested-With`', 'what-a-client-can-do-and-x-requested-with'],
  ['SluiceRewound', 'sluicerewound'],
])('the anchor of "%s" is that of GitHub', (heading, slug) => {
  expect(slugOf(heading)).toBe(slug)
})

test('prose is everything but code', () => {
  expect(inProse('a `a` a\n```\na\n```\na', (prose) => prose.replaceAll('a', 'b'))).toBe(
    'b `a` b\n```\na\n```\nb',
  )
})
