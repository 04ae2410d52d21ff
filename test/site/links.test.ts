import { expect, test } from 'vitest'
import { withoutInline } from '../../site/finish.ts'
import { brokenLinks } from '../../site/links.ts'
import { patched } from '../../site/search-box.ts'

const files = new Set(['index.html', 'guides/rules.html', 'ops/index.html', 'assets/a.js'])

/** The broken links of a page `guides/rules.html`. */
const brokenIn = (link: string) =>
  brokenLinks({
    base: '/docs/',
    files,
    pages: new Map([
      ['guides/rules.html', `<h2 id="limits">Limits</h2> <a class="x" href="${link}">x</a>`],
      ['index.html', '<h2 id="r%C3%A9">x</h2><h2 id="ré">x</h2>'],
      ['ops/index.html', ''],
    ]),
  })

test.each([
  '#limits',
  '/docs/',
  '/docs/#r%C3%A9',
  '/docs/ops/',
  '/docs/guides/rules.html#limits',
  '../ops/',
  'rules.html',
  '/docs/assets/a.js',
  '/docs/api/',
  'https://example.org/nothing',
  'data:,',
])('a link to %s is fine', (link) => {
  expect(brokenIn(link)).toEqual([])
})

test.each([
  '#nothing',
  '/docs/nothing.html',
  '/docs/guides/',
  '/docs/guides/rules.html#nothing',
  '/docs/#limits',
  '../nothing/',
  '/guides/rules.html',
  '/docs/guides/rules',
])('a link to %s is broken', (link) => {
  expect(brokenIn(link)).toEqual([`guides/rules.html: ${link}`])
})

test('inline scripts become one, and style attributes disappear', () => {
  const { html, script } = withoutInline(
    '<head><script id="a">one()</script>\n<script type="module" src="x.js"></script><script>two()</script></head><div class="c" style="position:relative;" id="d">style="kept"</div>',
  )
  expect(html).toBe(
    '<head><script type="module" src="x.js"></script></head><div class="c" id="d">style="kept"</div>',
  )
  expect(script).toBe('one()\ntwo()\n')
})

test('the build fails if VitePress changes its search box', () => {
  expect(() => patched('<div role="button">')).toThrow('see site/search-box.ts')
})
