import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { literally, substitute } from '../../cli/settings/variables.ts'
import { trickyText } from './generated.ts'

const env = { SECRET: 's3cret', _a1: 'lower', OTHER: '${SECRET}', EMPTY: '' }
const codes = (text: string) => substitute(text, env).faults.map(({ code }) => code)

describe('a variable in a text', () => {
  test.each([
    ['${SECRET}', 's3cret'],
    ['Bearer ${SECRET}!', 'Bearer s3cret!'],
    ['${SECRET}${_a1}', 's3cretlower'],
    ['costs $5 {each}', 'costs $5 {each}'],
    ['$${SECRET}', '${SECRET}'],
    ['$$${SECRET}', '$${SECRET}'],
    ['', ''],
  ])('%s becomes %s', (text, wanted) => {
    expect(substitute(text, env)).toMatchObject({ text: wanted, faults: [] })
  })

  test('is filled in once: its value is not searched', () => {
    expect(substitute('${OTHER}', env).text).toBe('${SECRET}')
  })

  test.each(['${MISSING}', '${EMPTY}', '${toString}'])('%s is reported as missing, by name', (text) => {
    const { faults } = substitute(text, env)
    expect(faults).toEqual([
      { code: 'variable_missing', message: expect.stringContaining(text.slice(2, -1)) },
    ])
  })

  test.each(['${}', '${1a}', '${a-b}', '${SECRET', '${ SECRET }'])(
    '%s is reported as not a variable',
    (text) => {
      expect(codes(text)).toEqual(['invalid_variable'])
    },
  )

  test('every invalid one is reported', () => {
    expect(codes('${A} ${SECRET} ${b c}')).toEqual(['variable_missing', 'invalid_variable'])
  })
})

test('any text can be escaped to stay as it is', () => {
  fc.assert(
    fc.property(fc.oneof(trickyText, fc.string({ unit: fc.constantFrom('$', '{', '}', 'A') })), (text) => {
      expect(substitute(literally(text), {})).toEqual({ text, faults: [], filledIn: [] })
    }),
  )
})
