import fc from 'fast-check'
import { expect, test } from 'vitest'
import { configRecord } from '../../../control/settings/write.ts'
import { crm, keys, opened, shop } from '../in-memory.ts'

const secret = fc.string({ minLength: 1, unit: 'grapheme', maxLength: 60 })

test('a record is read from the topic as it was written, whatever its secrets', () => {
  fc.assert(
    fc.property(secret, secret, secret, (sharedSecret, previousSecret, value) => {
      const webhooks = [{ url: 'https://crm.example/hook', headers: { 'X-Team': value, 'X-Two': value } }]
      const record = { ...crm, sharedSecret, previousSecret, webhooks }
      const { key, value: written } = configRecord({ kind: 'destination', id: 'crm', record }, keys)
      expect(opened(String(key), String(written))).toEqual(record)
    }),
  )
})

test('no secret is in the topic in clear', () => {
  const written = [
    configRecord({ kind: 'destination', id: 'crm', record: crm }, keys),
    configRecord({ kind: 'source', id: 'shop', record: shop }, keys),
  ]
  const text = written.map(({ value }) => String(value)).join()
  for (const clear of ['shared-secret', 'header-secret', 'shop-write-key']) expect(text).not.toContain(clear)
  expect(text).toContain('https://crm.example/hook')
})

test('the same secret is sealed differently each time', () => {
  const seal = () => configRecord({ kind: 'source', id: 'shop', record: shop }, keys).value
  expect(seal()).not.toBe(seal())
})

test('a secret moved to another record does not open', () => {
  const { value } = configRecord({ kind: 'source', id: 'shop', record: shop }, keys)
  expect(opened('source/other', String(value))).toEqual({ not: 'forged' })
})

test('a removed setting becomes a tombstone', () => {
  expect(configRecord({ kind: 'source', id: 'shop', record: null }, keys)).toEqual({
    topic: 'config',
    key: 'source/shop',
    value: null,
  })
})
