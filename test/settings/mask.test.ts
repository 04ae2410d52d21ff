import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MASK, mask, restoreMasked } from '../../settings/mask.ts'
import { crm, shop } from '../control/in-memory.ts'

// longer than anything in these records that is no secret
const secret = fc.stringMatching(/^[\x21-\x7e]{60,80}$/)
const headers = fc.dictionary(fc.stringMatching(/^X-[a-z]{1,10}$/), secret, { maxKeys: 5 })
const webhooks = fc.array(fc.record({ url: fc.webUrl(), headers }), { minLength: 1, maxLength: 5 })

test('no secret of a destination is ever shown', () => {
  fc.assert(
    fc.property(
      secret,
      secret,
      webhooks,
      fc.constantFrom('admin', 'view'),
      (sharedSecret, previousSecret, hooks, who) => {
        const shown = JSON.stringify(mask({ ...crm, sharedSecret, previousSecret, webhooks: hooks }, who))
        const secrets = [
          sharedSecret,
          previousSecret,
          ...hooks.flatMap((hook) => Object.values(hook.headers)),
        ]
        for (const each of secrets) expect(shown).not.toContain(JSON.stringify(each).slice(1, -1))
      },
    ),
  )
})

test('other fields stay', () => {
  expect(mask(crm, 'admin')).toEqual({
    ...crm,
    sharedSecret: '***',
    webhooks: [{ url: 'https://crm.example/hook', headers: { 'X-Team': '***' } }],
  })
})

test.each([
  ['https://hooks.example/services/T0/B0/secret', 'https://hooks.example/***'],
  ['https://a.example:8443/?token=secret', 'https://a.example:8443/***'],
  ['https://a.example/#secret', 'https://a.example/***'],
  // parsed, these have no path
  ['https://a.example/secret/..', 'https://a.example/***'],
  ['https://a.example\\secret\\..\\', 'https://a.example/***'],
  ['https:/a.example/secret/%2e%2e/', 'https://a.example/***'],
  ['HTTPS://A.example:443/', 'HTTPS://A.example:443/'],
  ['https://a.example', 'https://a.example'],
  ['https://a.example/', 'https://a.example/'],
])('of %s the view token gets %s', (url, shown) => {
  const record = { ...crm, webhooks: [{ url, headers: {} }] }
  expect(mask(record, 'view').webhooks[0]?.url).toBe(shown)
  expect(mask(record, 'admin').webhooks[0]?.url).toBe(url)
  expect(record.webhooks[0]?.url).toBe(url)
})

test('a secret that is not set is not shown as set', () => {
  const { sharedSecret: _, ...open } = crm
  expect(mask(open, 'admin')).not.toHaveProperty('sharedSecret')
})

test('a write key is shown only to the admin', () => {
  expect(mask(shop, 'admin').writeKey).toBe('shop-write-key')
  expect(mask(shop, 'view').writeKey).toBe('***')
})

const hook = (url: string, headers: Record<string, string>) => ({ url, headers })

test('a response can be sent back without changing anything', () => {
  for (const record of [shop, { ...crm, previousSecret: 'older' }])
    for (const who of ['admin', 'view'] as const)
      expect(restoreMasked(mask(record, who), record)).toEqual({ body: record, faults: [] })
})

test('secrets that are given replace the old ones', () => {
  const body = {
    ...crm,
    sharedSecret: 'new',
    webhooks: [hook('https://crm.example/hook', { 'X-Team': 'new' })],
  }
  expect(restoreMasked(body, crm)).toEqual({ body, faults: [] })
})

test('a header is matched by URL and name, in any case and at any position', () => {
  const old = { webhooks: [hook('https://a', { 'X-Key': 'of a' }), hook('https://b', { 'X-Key': 'of b' })] }
  const body = { webhooks: [hook('https://b', { 'x-key': MASK }), hook('https://a', { 'X-Key': MASK })] }
  const kept = { webhooks: [hook('https://b', { 'x-key': 'of b' }), hook('https://a', { 'X-Key': 'of a' })] }
  expect(restoreMasked(body, old)).toEqual({ body: kept, faults: [] })
})

test('of two webhooks with one URL each keeps its own header', () => {
  const old = { webhooks: [hook('https://a', { K: 'first' }), hook('https://a', { K: 'second' })] }
  const body = { webhooks: [hook('https://a', { K: MASK }), hook('https://a', { K: MASK })] }
  expect(restoreMasked(body, old).body).toEqual(old)
})

test('a header does not follow its webhook to another URL', () => {
  const { body, faults } = restoreMasked({ webhooks: [hook('https://evil', { 'X-Team': MASK })] }, crm)
  expect(faults).toEqual([
    {
      pointer: '/webhooks/0/headers/X-Team',
      code: 'nothing_to_keep',
      message:
        '"***" keeps the old value, but this URL has none under this name: give the value itself, or leave it out',
    },
  ])
  expect(body).toEqual({ webhooks: [hook('https://evil', {})] })
})

test('a masked URL stands for the webhook at its position, or another on the same host', () => {
  const old = {
    webhooks: [hook('https://a/1', { K: 'one' }), hook('https://a/2', { K: 'two' }), hook('https://b/3', {})],
  }
  const sent = (...urls: string[]) => ({ webhooks: urls.map((url) => hook(url, {})) })
  expect(restoreMasked(sent('https://a/***', 'https://a/***', 'https://b/***'), old)).toEqual({
    body: sent('https://a/1', 'https://a/2', 'https://b/3'),
    faults: [],
  })
  expect(restoreMasked(sent('https://b/***'), old).body).toEqual(sent('https://b/3'))
  const { faults } = restoreMasked(sent('https://c/***'), old)
  expect(faults).toMatchObject([{ pointer: '/webhooks/0/url', code: 'nothing_to_keep' }])
  const header = { webhooks: [hook('https://a/***', { K: MASK })] }
  expect(restoreMasked(header, old).body).toEqual({ webhooks: [hook('https://a/1', { K: 'one' })] })
})

test('every mask without a value is reported', () => {
  const body = {
    writeKey: MASK,
    sharedSecret: MASK,
    previousSecret: MASK,
    webhooks: [hook('https://a', { 'a/b': MASK })],
  }
  const pointers = restoreMasked(body, undefined).faults.map(({ pointer }) => pointer)
  expect(pointers).toEqual(['/writeKey', '/sharedSecret', '/previousSecret', '/webhooks/0/headers/a~1b'])
})

test('a body of any shape is accepted', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      (body) => void expect(restoreMasked(body, crm)).toEqual({ body, faults: [] }),
    ),
  )
  const odd = { webhooks: [null, 3, [], { headers: null }, { headers: 'x' }, { url: 1, headers: { a: 1 } }] }
  expect(restoreMasked(odd, crm)).toEqual({ body: odd, faults: [] })
})

test('the request body is not modified', () => {
  const body = { sharedSecret: MASK }
  restoreMasked(body, crm)
  expect(body).toEqual({ sharedSecret: MASK })
})
