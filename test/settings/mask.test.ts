import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mask } from '../../settings/mask.ts'
import { crm, shop } from '../control/in-memory.ts'

// longer than anything that is no secret in these records
const secret = fc.stringMatching(/^[\x21-\x7e]{60,80}$/)
const headers = fc.dictionary(fc.stringMatching(/^X-[a-z]{1,10}$/), secret, { maxKeys: 5 })
const webhooks = fc.array(fc.record({ url: fc.webUrl(), headers }), { minLength: 1, maxLength: 5 })

test('no secret of a destination is ever shown, to nobody', () => {
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

test('what is no secret stays', () => {
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

test('a write key is shown to the admin and to nobody else', () => {
  expect(mask(shop, 'admin').writeKey).toBe('shop-write-key')
  expect(mask(shop, 'view').writeKey).toBe('***')
})
