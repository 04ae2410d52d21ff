import { expect, test } from 'vitest'
import { type Decided, replace } from '../../settings/resources/decide.ts'
import { destinations } from '../../settings/resources/destinations.ts'
import { sources } from '../../settings/resources/sources.ts'
import { crm, factsOf, faults, given, made, now, shop, unreachable } from '../control/in-memory.ts'

const facts = factsOf({ sources: [shop], destinations: [crm] })
const at = { now, made, unreachable }

const asked = { ...at, now: '2026-02-02T00:00:00.000Z', id: 'crm', version: 2 }

test('increases the version; fields left out are gone', () => {
  const { record } = accepted(replace(destinations, { ...asked, body: given }, facts))
  expect(record).toEqual({
    ...given,
    id: 'crm',
    type: 'Webhooks',
    enabled: true,
    sourceIds: [],
    webhooks: [{ url: 'https://crm.example/hook', headers: {} }],
    version: 3,
    updatedAt: asked.now,
  })
})

test('what was read can be sent back: version and updatedAt in the body change nothing', () => {
  const body = { ...crm, version: 99, updatedAt: 'x', sharedSecret: '***' }
  expect(accepted(replace(destinations, { ...asked, body }, facts)).record).toEqual({
    ...crm,
    version: 3,
    updatedAt: asked.now,
  })
})

test('a version other than the current one is refused, and the current one is named', () => {
  for (const version of [1, 3])
    expect(replace(destinations, { ...asked, version, body: given }, facts)).toEqual({
      refusal: { code: 'version_mismatch', current: 2 },
    })
})

test('a missing record cannot be replaced', () => {
  expect(replace(destinations, { ...asked, id: 'nope', body: given }, facts)).toMatchObject({
    refusal: { code: 'not_found' },
  })
})

test('an id cannot change', () => {
  expect(faults(replace(destinations, { ...asked, body: { ...given, id: 'crm2' } }, facts))).toEqual([
    '/id id_fixed',
  ])
})

test('a source keeps its write key unless another is given', () => {
  const change = (body: object) =>
    accepted(replace(sources, { ...at, id: 'shop', version: 3, body }, facts)).record
  expect(change({ name: 'Shop' })).toMatchObject({ writeKey: 'shop-write-key' })
  expect(change({ name: 'Shop', writeKey: '***' })).toMatchObject({ writeKey: 'shop-write-key' })
  expect(change({ name: 'Shop', writeKey: 'shop-write-key' })).toMatchObject({ writeKey: 'shop-write-key' })
  expect(change({ name: 'Shop', writeKey: 'another-key' })).toMatchObject({ writeKey: 'another-key' })
})

test("a source does not get another source's write key", () => {
  const two = factsOf({ sources: [shop, { ...shop, id: 'blog', writeKey: 'blog-write-key' }] })
  const body = { name: 'Shop', writeKey: 'blog-write-key' }
  expect(faults(replace(sources, { ...at, id: 'shop', version: 3, body }, two))).toEqual([
    '/writeKey write_key_taken',
  ])
})

function accepted<T>(decided: Decided<T>): { id: string; record: T | null } {
  if ('refusal' in decided) throw new Error(`refused: ${JSON.stringify(decided.refusal)}`)
  return decided
}
