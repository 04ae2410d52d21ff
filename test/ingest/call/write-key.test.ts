import { describe, expect, test } from 'vitest'
import { keyInside, keyOutside } from '../../../ingest/call/authenticate.ts'

const encode = (text: string) => Buffer.from(text).toString('base64')
const key = (places: { authorization?: string; body?: unknown; query?: unknown }) =>
  keyOutside(places.authorization, places.query) ?? keyInside(places.body)

describe('a write key is found', () => {
  test.each([
    ['as the user name of basic auth', { authorization: `Basic ${encode('key:')}` }],
    ['without the colon', { authorization: `Basic ${encode('key')}` }],
    ['with a password, which does not count', { authorization: `Basic ${encode('key:secret:x')}` }],
    ['with the scheme in other capitals', { authorization: `basic ${encode('key:')}` }],
    ['in the body', { body: { writeKey: 'key' } }],
    ['in the query', { query: { writeKey: 'key' } }],
    ['in the body, beside a bearer token', { authorization: 'Bearer token', body: { writeKey: 'key' } }],
    [
      'in the body, beside an empty user name',
      { authorization: `Basic ${encode(':')}`, body: { writeKey: 'key' } },
    ],
    ['in the query, when the body is no object', { body: ['writeKey'], query: { writeKey: 'key' } }],
    [
      'in the query, when the one in the body is empty',
      { body: { writeKey: '' }, query: { writeKey: 'key' } },
    ],
    [
      'in basic auth before the others',
      { authorization: `Basic ${encode('key:')}`, body: { writeKey: 'b' }, query: { writeKey: 'q' } },
    ],
    ['in the query before the body', { body: { writeKey: 'b' }, query: { writeKey: 'key' } }],
  ])('%s', (_where, places) => {
    expect(key(places)).toBe('key')
  })
})

describe('no write key', () => {
  test.each([
    ['anywhere', {}],
    ['in a bearer token', { authorization: `Bearer ${encode('key:')}` }],
    ['in basic auth without a value', { authorization: 'Basic ' }],
    ['that is no string', { body: { writeKey: 5 }, query: { writeKey: ['a', 'b'] } }],
    ['in null', { body: null, query: null }],
  ])('%s', (_where, places) => {
    expect(key(places)).toBeUndefined()
  })
})
