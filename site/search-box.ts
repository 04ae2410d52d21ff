import type { Plugin } from 'vite'

/**
 * VitePress announces its search box as a button with a field and links, and hides the results' text from screen
 * readers. This makes it a dialog with options.
 */
const REPLACEMENTS: readonly (readonly [string, string])[] = [
  ['role="button"', 'role="dialog" aria-modal="true"'],
  [`:aria-owns="results?.length ? 'localsearch-list' : undefined"`, ''],
  ['aria-expanded="true"', ''],
  ['aria-haspopup="listbox"', ''],
  // an option must not contain a link
  ['role="option"', 'role="none"'],
  [`:id="'localsearch-item-' + index"`, ''],
  [`:aria-selected="selectedIndex === index ? 'true' : 'false'"`, ''],
  [
    `:aria-label="[...p.titles, p.title].join(' > ')"`,
    `:id="'localsearch-item-' + index" :aria-selected="selectedIndex === index" role="option" tabindex="-1"`,
  ],
  ['<kbd :aria-label', '<kbd role="img" :aria-label'],
]

export function accessibleSearchBox(): Plugin {
  return {
    name: 'sluice-search-box',
    enforce: 'pre',
    transform(code, id) {
      return id.endsWith('/VPLocalSearchBox.vue') ? patched(code) : undefined
    },
  }
}

/** @throws if VitePress has changed its search box. */
export function patched(source: string): string {
  return REPLACEMENTS.reduce((code, [from, to]) => {
    if (!code.includes(from)) throw new Error(`VPLocalSearchBox.vue has no ${from}: see site/search-box.ts`)
    return code.replaceAll(from, to)
  }, source)
}
