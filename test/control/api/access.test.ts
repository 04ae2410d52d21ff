import { describe, expect, test } from 'vitest'
import { api, VIEW } from '../api.ts'
import { shop } from '../in-memory.ts'

describe('who may', () => {
  test('no request passes without a token, and the response says how to authenticate', async () => {
    const { status, headers, json } = await api().ask({ url: '/api/sources', token: '' })
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toBe('Bearer realm="sluice"')
    expect(json).toEqual({ code: 'unauthorized', message: expect.any(String), errors: [] })
  })

  test('no request passes with a wrong token, not even to learn which paths exist', async () => {
    const { ask } = api()
    for (const url of ['/api/sources', '/api/nothing', '/api/sources/shop'])
      expect(await ask({ url, token: 'wrong' })).toMatchObject({
        status: 401,
        // RFC 6750, 3.1
        headers: { 'www-authenticate': 'Bearer realm="sluice", error="invalid_token"' },
        json: { code: 'unauthorized' },
      })
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('a view token never %ss', async (method) => {
    const { ask, topic } = api({ sources: [shop] })
    const url = method === 'POST' ? '/api/sources' : '/api/sources/shop'
    const asked = { method, url, body: { name: 'x' }, token: VIEW, headers: { 'if-match': '3' } }
    expect(await ask(asked)).toMatchObject({ status: 403, json: { code: 'read_only' } })
    expect(topic.size).toBe(0)
  })

  test('operators see health and metrics without a token', async () => {
    const { ask } = api()
    for (const url of ['/livez', '/readyz', '/metrics'])
      expect(await ask({ url, token: '' })).toMatchObject({ status: 200 })
  })
})
