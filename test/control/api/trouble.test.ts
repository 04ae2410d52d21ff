import { describe, expect, test } from 'vitest'
import type { AppParts } from '../../../control/app.ts'
import { api } from '../api.ts'
import { inMemory, shop } from '../in-memory.ts'

describe('each write', () => {
  test('is one line of the log: who, what, and what came of it', async () => {
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

describe('while something is missing', () => {
  test('Kafka: a write answers 503 and when to try again', async () => {
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

  test('Kafka for longer than a client waits: the write is not made afterwards, when nobody expects it', async () => {
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

  test('the settings: not ready, and nobody is told that something is not there', async () => {
    const { ask } = api({ sources: [shop] }, { probe: { notReady: () => 'loading' } })
    expect(await ask({ url: '/readyz', token: '' })).toMatchObject({ status: 503, text: 'loading\n' })
    expect(await ask({ url: '/livez', token: '' })).toMatchObject({ status: 200 })
    for (const url of ['/api/sources', '/api/sources/shop', '/api/sources/nope'])
      expect(await ask({ url })).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
  })

  test('nothing but a fault of ours: 500 without its details, which are in the log', async () => {
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
