import { describe, expect, test } from 'vitest'
import { readIds, readMessageId } from '../../../ingest/call/accept.ts'

const NAMES = ['userId', 'anonymousId', 'groupId', 'previousId'] as const
const NONE = { userId: null, anonymousId: null, groupId: null, previousId: null }

describe.each(NAMES)('%s', (name) => {
  test.each<[string, string | null | 'refused']>([
    ['null', null],
    ['""', null],
    ['" "', ' '],
    ['"0"', '0'],
    ['"null"', 'null'],
    ['"\\u00e9\\ud83d\\ude00"', 'é😀'],
    ['"\\ud800"', '\ufffd'],
    ['"007"', '007'],
    ['0', '0'],
    ['-0', '0'],
    ['7', '7'],
    ['7.0', '7'],
    ['1e3', '1000'],
    ['-12', '-12'],
    ['12.5', '12.5'],
    ['0.000001', '0.000001'],
    ['9007199254740991', '9007199254740991'],
    ['-9007199254740991', '-9007199254740991'],
    ['9007199254740992', 'refused'],
    ['9007199254740993', 'refused'],
    ['-9007199254740993', 'refused'],
    ['123456789012345678901234567890', 'refused'],
    ['1e400', 'refused'],
    ['1e-7', 'refused'],
    ['true', 'refused'],
    ['false', 'refused'],
    ['[]', 'refused'],
    ['["u"]', 'refused'],
    ['{}', 'refused'],
    ['{"id": "u"}', 'refused'],
  ])('in JSON %s is %j', (json, expected) => {
    const ids = readIds(JSON.parse(`{"${name}": ${json}}`))
    expect(ids).toEqual(expected === 'refused' ? undefined : { ...NONE, [name]: expected })
  })

  test('an invalid id is refused beside valid ones', () => {
    const good = { userId: 'u', anonymousId: 'a', groupId: 'g', previousId: 'p' }
    expect(readIds(good)).toEqual(good)
    expect(readIds({ ...good, [name]: true })).toBeUndefined()
  })
})

describe('messageId', () => {
  test.each(['m', ' ', '0', 'm'.repeat(100), 'grüße\r\n', '\u0000'])('%j is kept', (value) => {
    expect(readMessageId(value)).toBe(value)
  })

  test.each([undefined, null, '', 'm'.repeat(101), 0, 42, true, {}, ['m']])('%j is not one', (value) => {
    expect(readMessageId(value)).toBeUndefined()
  })
})
