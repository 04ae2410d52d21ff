import { describe, expect, test } from 'vitest'
import { ADMIN, api, VIEW } from '../api.ts'
import { shop } from '../in-memory.ts'

const destination = { name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }] }

describe('secrets', () => {
  const body = {
    ...destination,
    id: 'crm',
    sharedSecret: 'secret-one',
    previousSecret: 'secret-two',
    previousSecretExpiresAt: '2026-02-01T00:00:00Z',
    webhooks: [{ url: 'https://crm.example/hook', headers: { 'X-Key': 'secret-three' } }],
  }

  test('are in no response or log line, and sealed in the topic; a PUT of a GET keeps them', async () => {
    const { ask, lines, topic, settings } = api()
    const created = await ask({ method: 'POST', url: '/api/destinations', body })
    const read = await ask({ url: '/api/destinations/crm' })
    const put = { method: 'PUT', url: '/api/destinations/crm', body: read.json, headers: { 'if-match': '1' } }
    const answers = [created, read, await ask(put), await ask({ url: '/api/destinations' })]
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200])
    const seen = [...answers.map(({ text }) => text), ...lines, ...topic.values()].join('\n')
    expect(seen).not.toMatch(/secret-(one|two|three)/)
    expect(settings.destinations.get('crm')).toMatchObject({ ...body, version: 2 })
  })

  test('are not in errors about them', async () => {
    const webhooks = [
      { url: 'https://user:secret-pass@crm.example', headers: { Host: 'secret-1', 'X-A': ' secret-2' } },
    ]
    const wrong = {
      ...body,
      webhooks,
      sharedSecret: `secret-3${'x'.repeat(600)}`,
      previousSecret: ['secret-4'],
    }
    const { ask, lines } = api()
    const { status, text } = await ask({ method: 'POST', url: '/api/destinations', body: wrong })
    expect(status).toBe(400)
    expect(text + lines.join()).not.toContain('secret-')
  })

  test('write keys are hidden from the view token, in lists and single records', async () => {
    const { ask } = api({ sources: [shop] })
    for (const url of ['/api/sources', '/api/sources/shop']) {
      expect((await ask({ url, token: VIEW })).text).not.toContain(shop.writeKey)
      expect((await ask({ url, token: ADMIN })).text).toContain(shop.writeKey)
    }
  })
})
