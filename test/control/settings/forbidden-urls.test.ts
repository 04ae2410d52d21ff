import { describe, expect, test } from 'vitest'
import { unreachableOf } from '../../../control/settings/routes.ts'
import { create, replace } from '../../../settings/resources/decide.ts'
import { destinations } from '../../../settings/resources/destinations.ts'
import { api } from '../api.ts'
import { crm, factsOf, faults, given, made, now, shop } from '../in-memory.ts'

const facts = factsOf({ sources: [shop], destinations: [crm] })
const webhooks = [{ url: 'https://crm.example/hook' }, { url: 'http://10.0.0.5/' }]
const at = { now, made, unreachable: new Map([['http://10.0.0.5/', 'is not public']]) }

describe('a URL that webhooks may not reach', () => {
  test('is a fault of its own place, with what was found', () => {
    expect(create(destinations, { ...at, body: { ...given, webhooks } }, facts)).toEqual({
      refusal: {
        code: 'faulty',
        faults: [{ pointer: '/webhooks/1/url', code: 'address_forbidden', message: 'is not public' }],
      },
    })
  })

  test('is refused in a replacement as well, also where it stood before', () => {
    const old = factsOf({
      sources: [shop],
      destinations: [{ ...crm, webhooks: [{ url: 'http://10.0.0.5/', headers: {} }] }],
    })
    const body = { name: 'CRM 2', webhooks: [{ url: 'http://10.0.0.5/' }] }
    expect(faults(replace(destinations, { ...at, id: 'crm', version: 2, body }, old))).toEqual([
      '/webhooks/0/url address_forbidden',
    ])
  })

  test('is reported together with all other faults', () => {
    const body = { name: '', webhooks: [...webhooks, { url: 'ftp://10.0.0.5/' }], sourceIds: ['nope'] }
    expect(faults(create(destinations, { ...at, body }, facts))).toEqual([
      '/name too_short',
      '/webhooks/2/url invalid_url',
      '/sourceIds/0 unknown_source',
      '/webhooks/1/url address_forbidden',
    ])
  })
})

describe('before a decision', () => {
  const asked: string[] = []
  const egress = {
    async faultOf({ href, hostname }: URL) {
      asked.push(href)
      return hostname.startsWith('10.') ? `${hostname} is not public` : undefined
    },
  }

  test('every URL is vetted; what is none, or is for no webhook, is left to its shape', async () => {
    const urls = ['http://10.0.0.5/a', 'https://crm.example/', 'crm.example', 'ftp://10.0.0.5/', '']
    expect([...(await unreachableOf(urls, egress))]).toEqual([
      ['http://10.0.0.5/a', '10.0.0.5 is not public'],
    ])
    expect(asked).toEqual(['http://10.0.0.5/a', 'https://crm.example/'])
  })

  test('all are vetted at once', async () => {
    const all = Promise.withResolvers<undefined>()
    let open = 0
    const slow = {
      faultOf() {
        open += 1
        if (open === 3) all.resolve(undefined)
        return all.promise
      },
    }
    expect((await unreachableOf(['http://a/', 'http://b/', 'http://c/'], slow)).size).toBe(0)
  })

  test.each([undefined, null, [], 'x', {}, { webhooks: 5 }, { webhooks: [null, 5, {}, { url: 5 }] }])(
    'a body of any shape has its URLs, or none: %j',
    (body) => {
      expect(destinations.urls?.(body)).toEqual([])
    },
  )

  test('of more than five URLs only five are looked up', () => {
    const many = {
      webhooks: Array.from({ length: 1_000 }, (_, index) => ({ url: `http://${index}.example` })),
    }
    expect(destinations.urls?.(many)).toHaveLength(5)
  })
})

describe('over HTTP', () => {
  const egress = {
    faultOf: async ({ hostname }: URL) => (hostname === '10.0.0.5' ? 'use another' : undefined),
  }
  const body = { ...given, id: 'new', webhooks }

  test('a POST and a PUT with such a URL answer 400 and write nothing', async () => {
    const { ask, topic } = api({ destinations: [crm] }, { egress })
    const refused = {
      status: 400,
      json: {
        code: 'validation_failed',
        errors: [{ pointer: '/webhooks/1/url', code: 'address_forbidden', message: 'use another' }],
      },
    }
    expect(await ask({ method: 'POST', url: '/api/destinations', body })).toMatchObject(refused)
    const put = { method: 'PUT', url: '/api/destinations/crm', headers: { 'if-match': '2' } }
    expect(await ask({ ...put, body: { ...given, webhooks } })).toMatchObject(refused)
    expect(topic.size).toBe(0)
  })

  test('what has no URLs is written without anything being looked up', async () => {
    const none = { faultOf: () => Promise.reject(new Error('looked up')) }
    const { ask } = api({}, { egress: none })
    expect(await ask({ method: 'POST', url: '/api/sources', body: { name: 'Shop' } })).toMatchObject({
      status: 201,
    })
  })
})
