import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { judge } from '../../../clients/node/answer.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const answer = (status: number, body: unknown = { success: true }, retryAfter?: string) =>
  judge({ status, retryAfter, body: typeof body === 'string' ? body : JSON.stringify(body) }, now)

describe('taken', () => {
  test.each([
    '',
    'ok',
    '<html>',
    '[]',
    'null',
    '{"rejected": 7}',
    '{"rejected": [null, {}, {"index": "0", "code": "x"}]}',
  ])('is a 200, also when its body is %j', (body) => {
    expect(answer(200, body)).toEqual({ verdict: 'taken', rejected: [] })
  })

  test('is a 200 that names the calls it has rejected', () => {
    const rejected = [{ index: 3, code: 'event_not_defined', message: 'A track call needs event.' }]
    expect(answer(200, { success: true, rejected })).toEqual({ verdict: 'taken', rejected })
  })
})

describe('to be tried again', () => {
  test.each([429, 500, 502, 503, 504, 599])('is a %d', (status) => {
    expect(answer(status, '')).toMatchObject({ verdict: 'retry', error: { code: 'rejected', status } })
  })

  test('is what had no answer', () => {
    const error = new Error('connect ECONNREFUSED')
    expect(judge({ error }, now)).toEqual({ verdict: 'retry', error, retryAfterMs: undefined })
  })

  test.each([
    ['3', 3_000],
    ['Fri, 02 Jan 2026 03:04:09 GMT', 4_000],
    ['soon', undefined],
  ])('waits for what %j asks', (value, retryAfterMs) => {
    expect(answer(503, '', value)).toMatchObject({ retryAfterMs })
    expect(answer(429, '', value)).toMatchObject({ retryAfterMs })
  })
})

describe('refused for good', () => {
  test.each([201, 204, 301, 302, 307, 400, 401, 403, 404, 408, 413, 415, 425, 431])('is a %d', (status) => {
    expect(answer(status, '', '1')).toMatchObject({ verdict: 'refused', error: { code: 'rejected', status } })
  })

  test('says what the service says', () => {
    const said = { code: 'unknown_source', message: 'No source has this write key.' }
    expect(answer(401, said)).toMatchObject({
      error: {
        reason: 'unknown_source',
        message: 'The service answered 401 unknown_source: No source has this write key.',
      },
    })
  })

  test('does not repeat a page of it', () => {
    const verdict = answer(400, { code: 'x', message: 'long '.repeat(10_000) })
    expect(verdict.verdict === 'refused' && verdict.error.message.length).toBeLessThan(400)
  })
})

test('no answer makes it throw, and only 200 is success', () => {
  const answers = fc.record({
    status: fc.integer({ min: 100, max: 599 }),
    retryAfter: fc.option(fc.string(), { nil: undefined }),
    body: fc.oneof(fc.string(), fc.json()),
  })
  fc.assert(
    fc.property(answers, (posted) => {
      expect(judge(posted, now).verdict === 'taken').toBe(posted.status === 200)
    }),
  )
})
