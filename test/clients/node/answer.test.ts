import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { judge, retryAfter } from '../../../clients/node/answer.ts'
import { batchAnswer, refusal, SUCCESS } from '../../../ingest/answer.ts'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const asked = { now, url: 'http://host/v1/batch' }
const answer = (status: number, body: unknown = { success: true }, retryAfter?: string) =>
  judge({ status, retryAfter, body: typeof body === 'string' ? body : JSON.stringify(body) }, asked)

describe('success', () => {
  test.each([
    '{"success":true}',
    ' { "more": 1, "success": true }\n',
    '{"success": true, "rejected": 7}',
    '{"success": true, "rejected": [null, {}, {"index": "0", "code": "x"}]}',
  ])('is a 200 whose body is %j', (body) => {
    expect(answer(200, body)).toEqual({ verdict: 'taken', rejected: [] })
  })

  test('is the response of the service itself', () => {
    expect(answer(200, SUCCESS.body)).toEqual({ verdict: 'taken', rejected: [] })
    const listed = { codes: [undefined, 'too_deep'], unlisted: 0 } as const
    const rejected = [{ index: 1, ...refusal('too_deep') }]
    expect(answer(200, batchAnswer(listed).body)).toEqual({ verdict: 'taken', rejected })
  })

  test('is a 200 with a list of rejected calls', () => {
    const rejected = [{ index: 3, code: 'event_not_defined', message: 'A track call needs event.' }]
    expect(answer(200, { success: true, rejected })).toEqual({ verdict: 'taken', rejected })
  })

  test('is a 200 that rejects calls without a code or a message, which affects no other call', () => {
    const whole = { index: 4, code: 'too_deep', message: 'm' }
    const rejected = [{ index: 0, message: 'No.' }, { index: 1, code: 7 }, { index: 2, code: '' }, whole]
    expect(answer(200, { success: true, rejected: [null, 'x', { code: 'x' }, ...rejected] })).toEqual({
      verdict: 'taken',
      rejected: [
        { index: 0, code: 'rejected', message: 'No.' },
        { index: 1, code: 'rejected', message: '' },
        { index: 2, code: 'rejected', message: '' },
        whole,
      ],
    })
  })

  test('is a 200 that names a call twice; the first entry counts', () => {
    const [first, second] = ['one', 'two'].map((code) => ({ index: 3, code, message: '' }))
    const other = { index: 0, code: 'three', message: '' }
    expect(answer(200, { success: true, rejected: [first, second, other] })).toEqual({
      verdict: 'taken',
      rejected: [first, other],
    })
  })
})

describe('a retry', () => {
  test.each([408, 429, 500, 502, 503, 504, 599])('follows a %d', (status) => {
    expect(answer(status, '')).toMatchObject({ verdict: 'retry', error: { code: 'rejected', status } })
  })

  test.each([
    '',
    'ok',
    '<html>Sign in to the network</html>',
    '[]',
    'null',
    '{"success":true',
    '{"success":"true"}',
    '{"rejected":[]}',
    '{"code":"unknown_source","message":"No source has this write key."}',
  ])('is a 200 whose body is %j, and it says why', (body) => {
    expect(answer(200, body)).toMatchObject({
      verdict: 'retry',
      error: {
        code: 'rejected',
        status: 200,
        message: 'http://host/v1/batch answered 200 without {"success": true}: is it /v1/batch of Sluice?',
      },
    })
  })

  test('follows a request without a response', () => {
    const error = new Error('connect ECONNREFUSED')
    expect(judge({ error }, asked)).toEqual({ verdict: 'retry', error, retryAfterMs: undefined })
  })

  test('follows a 200 that broke off before its success field, with that reason', () => {
    const brokenBy = new Error('timeout')
    const broken = { retryAfter: undefined, brokenBy }
    const retry = { verdict: 'retry', error: brokenBy, retryAfterMs: undefined }
    expect(judge({ ...broken, status: 200, body: '{' }, asked)).toEqual(retry)
    expect(judge({ ...broken, status: 200, body: '{"success":true}' }, asked)).toMatchObject({
      verdict: 'taken',
    })
    expect(judge({ ...broken, status: 503, body: '' }, asked)).toMatchObject({ error: { status: 503 } })
    expect(judge({ ...broken, status: 401, body: '' }, asked)).toMatchObject({ verdict: 'refused' })
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

describe('a final refusal', () => {
  test.each([201, 204, 301, 302, 307, 400, 401, 403, 404, 413, 415, 425, 431, 600, 999])(
    'is a %d',
    (status) => {
      expect(answer(status, '', '1')).toMatchObject({
        verdict: 'refused',
        error: { code: 'rejected', status },
      })
    },
  )

  test('depends on the code, because some refusals are temporary', () => {
    const passesWithinMs = (status: number, code: string) => {
      const verdict = answer(status, { code })
      return verdict.verdict === 'refused' ? verdict.passesWithinMs : verdict.verdict
    }
    expect(passesWithinMs(401, 'unknown_source')).toBe(10_000)
    expect(passesWithinMs(403, 'source_disabled')).toBe(60_000)
    expect(passesWithinMs(401, 'no_such_code')).toBeUndefined()
    expect(passesWithinMs(503, 'source_disabled')).toBe('retry')
  })

  test('has the message of the service', () => {
    const said = { code: 'unknown_source', message: 'No source has this write key.' }
    expect(answer(401, said)).toMatchObject({
      error: {
        reason: 'unknown_source',
        message: 'http://host/v1/batch answered 401 unknown_source: No source has this write key.',
      },
    })
  })

  test.each([
    [{ code: 'closed' }, 'http://host/v1/batch answered 403 closed.'],
    [{ message: 'No.' }, 'http://host/v1/batch answered 403.'],
    ['<html>', 'http://host/v1/batch answered 403.'],
  ])('says no more than there is in %j', (said, message) => {
    expect(answer(403, said)).toMatchObject({ error: { message } })
  })

  test('does not include a whole page', () => {
    const long = 'long '.repeat(10_000)
    const shown = `${long.slice(0, 300)}...`
    expect(answer(400, { code: long, message: long })).toMatchObject({
      error: { reason: shown, message: `http://host/v1/batch answered 400 ${shown}: ${shown}` },
    })
    expect(answer(200, { success: true, rejected: [{ index: 0, code: long, message: long }] })).toEqual({
      verdict: 'taken',
      rejected: [{ index: 0, code: shown, message: shown }],
    })
  })
})

test('no response makes judge throw, and only 200 with success is success', () => {
  const answers = fc.record({
    status: fc.oneof(fc.constant(200), fc.integer({ min: 100, max: 999 })),
    retryAfter: fc.option(fc.string(), { nil: undefined }),
    body: fc.oneof(fc.string(), fc.json(), fc.constant('{"success":true}')),
  })
  fc.assert(
    fc.property(answers, (posted) => {
      const isSuccess = posted.status === 200 && posted.body === '{"success":true}'
      expect(judge(posted, asked).verdict === 'taken').toBe(isSuccess)
    }),
  )
})

describe('Retry-After', () => {
  // local time is not GMT: a date without a zone is easily misread
  beforeAll(() => void vi.stubEnv('TZ', 'America/New_York'))
  afterAll(() => void vi.unstubAllEnvs())

  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['Fri, 02 Jan 2026 03:05:05 GMT', 60_000],
    ['Friday, 02-Jan-26 03:05:05 GMT', 60_000],
    ['Fri Jan  2 03:05:05 2026', 60_000],
    ['Fri, 02 Jan 2026 03:00:00 GMT', 0],
  ])('%s is %d ms', (value, delayMs) => {
    expect(retryAfter(value, now)).toBe(delayMs)
  })

  test.each([
    undefined,
    '',
    'soon',
    '-5',
    '1.5',
    '1e3',
    '120, 60',
    '2026-01-02T03:05:05Z',
    'Fri, 02 Jan 2026',
    'Fri, 02 Jan 2026 03:05:05 PST',
    'Fri, 99 Foo 2026 03:05:05 GMT',
  ])('%j says nothing', (value) => {
    expect(retryAfter(value, now)).toBeUndefined()
  })

  test('a date and as many seconds are the same delay', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400 }), (seconds) => {
        const date = new Date(now + seconds * 1_000).toUTCString()
        expect(retryAfter(date, now)).toBe(retryAfter(String(seconds), now))
      }),
    )
  })
})
