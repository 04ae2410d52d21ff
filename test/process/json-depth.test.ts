import { describe, expect, test } from 'vitest'
import { isDeeper } from '../../process/json-depth.ts'

describe('the depth of JSON is measured without parsing it', () => {
  test.each([
    ['[[]]', 2, false],
    ['[[]]', 1, true],
    ['{"a":[{}]}', 3, false],
    ['{"a":[{}]}', 2, true],
    ['["[[[[", "\\"[[[[", "\\\\"]', 1, false],
    ['[],[],[],[]', 1, false],
    ['"[[[[', 1, false],
    ['"\\', 1, false],
  ])('%s beyond %d: %s', (text, levels, expected) => {
    expect(isDeeper(Buffer.from(text), levels)).toBe(expected)
  })
})
