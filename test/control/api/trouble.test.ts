import { describe, expect, test } from 'vitest'
import type { AppParts } from '../../../control/app.ts'
import { api } from '../api.ts'
import { inMemory, shop } from '../in-memory.ts'

describe('each write', () => {
  test('is one log line: who, what, and the outcome', async () => {
    const { ask, lines } = api()
    const post = { method: 'POST', url: '/api/sources', body: { id: 'shop', name: 'Shop' } }
    await ask(post)
    await ask(post)
    await ask({ url: '/api/sources' })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { audit: true, who: 'admin', what: 'source', id: 'shop', version: 1, outcome: 'created' },
      { who: 'admin', what: 'source', outcome: 'faulty', codes: ['id_taken'] },
    ])
  })
})

describe('during a failure', () => {
  test('of Kafka, a write gets 503 with Retry-After', async () => {
    const writer: AppParts['writer'] = {
      async write(decide) {
        decide()
        return { ok: false, unavailable: new Error('no broker') }
      },
    }
    const asked = { method: 'POST', url: '/api/sources', body: { name: 'Shop' } }
    const answer = await api({}, { writer }).ask(asked)
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '5' },
      json: { code: 'unavailable' },
    })
  })

  test('of Kafka that outlasts a client, the write is not made afterwards', async () => {
    const { settings, writer, topic } = inMemory()
    const back = Promise.withResolvers<void>()
    const decided = Promise.withResolvers<void>()
    const slow: AppParts['writer'] = { write: (decide) => writer.write(decide).finally(decided.resolve) }
    const table = { caughtUp: () => back.promise }
    const { ask } = api({}, { settings: { ...settings, table }, writer: slow, timeoutMs: 10 })
    const asked = { method: 'POST', url: '/api/sources', body: { name: 'Shop' } }
    expect(await ask(asked)).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    back.resolve()
    await decided.promise
    expect(topic.size).toBe(0)
  })

  test('of the settings, the process is not ready and reports nothing as missing', async () => {
    const { ask } = api({ sources: [shop] }, { probe: { notReady: () => 'loading' } })
    expect(await ask({ url: '/readyz', token: '' })).toMatchObject({ status: 503, text: 'loading\n' })
    expect(await ask({ url: '/livez', token: '' })).toMatchObject({ status: 200 })
    for (const url of ['/api/sources', '/api/sources/shop', '/api/sources/nope'])
      expect(await ask({ url })).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  })

  test('of our own code, the response is 500, with the details only in the log', async () => {
    const settings = inMemory().settings
    Object.defineProperty(settings, 'sources', {
      get: () => {
        throw new Error('inner detail')
      },
    })
    const { ask, lines } = api({}, { settings })
    const { status, json, text } = await ask({ url: '/api/sources' })
    expect([status, json.code]).toEqual([500, 'internal'])
    expect(text).not.toContain('inner detail')
    expect(lines.join()).toContain('inner detail')
  })
})
