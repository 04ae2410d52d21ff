import { expect, test } from 'vitest'
import { perObject } from '../../process/per-object.ts'

test('a value is made once per object, and again for an equal object', () => {
  const made: object[] = []
  const madeOf = perObject((of: { id: string }) => {
    made.push(of)
    return { of }
  })
  const [crm, copy] = [{ id: 'crm' }, { id: 'crm' }]
  expect(madeOf(crm)).toBe(madeOf(crm))
  expect(madeOf(copy)).toEqual({ of: copy })
  expect(madeOf(copy)).not.toBe(madeOf(crm))
  expect(made).toEqual([crm, copy])
})
