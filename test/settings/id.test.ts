import fc from 'fast-check'
import { expect, test } from 'vitest'
import { idFor } from '../../settings/resources/resource.ts'
import { idShape } from '../../settings/settings.ts'

test.each([
  ['Shop', 'shop-a1b2'],
  ['Café Nord (EU)', 'cafe-nord-eu-a1b2'],
  ['Crème Brûlée', 'creme-brulee-a1b2'],
  ['x'.repeat(200), `${'x'.repeat(59)}-a1b2`],
  ['  --  ', 'a1b2'],
  ['東京', 'a1b2'],
])('%j is named %j', (name, id) => {
  expect(idFor(name, 'a1b2')).toBe(id)
})

test('whatever the name, its id is valid and ends with the unique suffix', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (name) => {
      const id = idFor(name, 'a1b2c3d4e5')
      expect(idShape.safeParse(id).success).toBe(true)
      expect(id.endsWith('a1b2c3d4e5')).toBe(true)
    }),
  )
})
