import { expect, test } from 'vitest'
import { versionAsked } from '../../../control/api/response.ts'

test('a version is taken with quotes and without', () => {
  expect(versionAsked('"3"')).toEqual({ version: 3 })
  expect(versionAsked('3')).toEqual({ version: 3 })
  expect(versionAsked(' "12" ')).toEqual({ version: 12 })
})

test('a version that a compressing proxy has weakened is taken', () => {
  expect(versionAsked('W/"3"')).toEqual({ version: 3 })
})

test('without the header there is no version', () => {
  expect(versionAsked(undefined)).toEqual({ version: undefined })
})

test.each(['*', '', 'W/3', 'w/"3"', '"3', '3"', '"3", "4"', '-1', '1.5', '"x"', '1e3', '9999999999999999'])(
  '%j is refused',
  (header) => {
    expect(versionAsked(header)).toMatchObject({
      refused: { status: 400, body: { code: 'invalid_if_match' } },
    })
  },
)
