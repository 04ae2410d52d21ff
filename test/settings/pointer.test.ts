import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pointer } from '../../settings/faults.ts'

/** By the letter of RFC 6901, section 4. */
function follow(text: string, document: unknown): unknown {
  return text
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((value, part) => (value as Record<string, unknown>)[part], document)
}

test('the empty path points at the whole document', () => {
  expect(pointer([])).toBe('')
})

test('slashes and tildes in names are escaped', () => {
  expect(pointer(['webhooks', 0, 'headers', 'a/b~c~1'])).toBe('/webhooks/0/headers/a~1b~0c~01')
})

test('whatever the names are, the pointer leads to the member', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.constantFrom('/', '~', '~1', '~0', ''))), (path) => {
      const names = path.filter((name) => name !== '__proto__')
      const document = names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 'found')
      expect(follow(pointer(names), document)).toBe('found')
    }),
  )
})
