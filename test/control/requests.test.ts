import { describe, expect, test } from 'vitest'
import { type Asked, api } from './api.ts'

describe('what is no request of ours', () => {
  const post = { method: 'POST', url: '/api/sources' }
  const cases: [string, Asked, number, string][] = [
    ['no JSON', { ...post, body: '{"name"' }, 400, 'invalid_json'],
    [
      'JSON that would poison a prototype',
      { ...post, body: '{"name":"x","__proto__":{}}' },
      400,
      'invalid_json',
    ],
    [
      'another type',
      { ...post, body: 'name=x', headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    ['more than 1 MB', { ...post, body: { name: 'x'.repeat(1024 * 1024) } }, 413, 'body_too_large'],
    ['nothing', post, 400, 'validation_failed'],
    ['another path', { url: '/api/nothing' }, 404, 'not_found'],
    ['another path outside of the API', { url: '/nothing', token: '' }, 404, 'not_found'],
    ['a path that cannot be decoded', { url: '/api/sources/%ff' }, 400, 'invalid_path'],
    ['an id longer than any', { url: `/api/sources/${'x'.repeat(300)}` }, 404, 'not_found'],
  ]
  test.each(cases)('%s', async (_, asked, status, code) => {
    const answer = await api().ask(asked)
    expect(answer).toMatchObject({
      status,
      json: { code, message: expect.any(String), errors: expect.any(Array) },
    })
  })

  test.each([
    ['PATCH', '/api/sources', 'GET, HEAD, POST'],
    ['DELETE', '/api/sources', 'GET, HEAD, POST'],
    ['POST', '/api/sources/shop', 'GET, HEAD, PUT, DELETE'],
  ])('%s %s', async (method, url, allow) => {
    const answer = await api().ask({
      method,
      url,
      body: 'whatever',
      headers: { 'content-type': 'text/html' },
    })
    expect(answer).toMatchObject({ status: 405, headers: { allow }, json: { code: 'method_not_allowed' } })
  })
})
