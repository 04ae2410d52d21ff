import { expect, test } from 'vitest'
import { create } from '../../settings/resources/decide.ts'
import { destinations } from '../../settings/resources/destinations.ts'
import { sources } from '../../settings/resources/sources.ts'
import { crm, factsOf, faults, given, made, now, shop, unreachable } from '../control/in-memory.ts'

const facts = factsOf({ sources: [shop], destinations: [crm] })
const at = { now, made, unreachable }

test('a source needs only a name: it gets an id and a write key, and is enabled', () => {
  const record = {
    id: 'blog-a1b2c3d4e5',
    name: 'Blog',
    writeKey: 'made-write-key',
    enabled: true,
    version: 1,
    updatedAt: now,
  }
  expect(create(sources, { ...at, body: { name: 'Blog' } }, facts)).toEqual({ id: record.id, record })
})

test('with the id of a removed setting, the version continues, so that an edit of the removed one is refused', () => {
  const lastVersions = new Map([['source/blog', 6]])
  const after = factsOf({ lastVersions })
  const versionOf = (id: string) => create(sources, { ...at, body: { id, name: 'Blog' } }, after)
  expect(versionOf('blog')).toMatchObject({ record: { version: 7 }, old: undefined })
  expect(versionOf('shop')).toMatchObject({ record: { version: 1 } })
})

test('a source may have 64 labels', () => {
  const of = (count: number) => {
    const labels = Object.fromEntries(Array.from({ length: count }, (_, each) => [`l${each}`, 'x']))
    return create(sources, { ...at, body: { name: 'Blog', labels } }, facts)
  }
  expect(of(64)).toHaveProperty('record')
  expect(faults(of(65))).toEqual(['/labels too_many'])
})

test('a client may choose id and write key', () => {
  const decided = create(
    sources,
    { ...at, body: { id: 'blog', name: 'Blog', writeKey: 'my-own-key' } },
    facts,
  )
  expect(decided).toMatchObject({ id: 'blog', record: { id: 'blog', writeKey: 'my-own-key' } })
})

test('a taken id and a taken write key are both reported', () => {
  const body = { id: 'shop', name: 'Shop 2', writeKey: 'shop-write-key' }
  expect(faults(create(sources, { ...at, body }, facts))).toEqual([
    '/id id_taken',
    '/writeKey write_key_taken',
  ])
})

test('a generated id never replaces a record', () => {
  const taken = factsOf({ sources: [{ ...shop, id: 'blog-a1b2c3d4e5' }] })
  expect(faults(create(sources, { ...at, body: { name: 'Blog' } }, taken))).toEqual(['/id id_taken'])
})

test('the id of a source is free for a destination', () => {
  expect(create(destinations, { ...at, body: { ...given, id: 'shop' } }, facts)).toMatchObject({
    id: 'shop',
  })
})

test('a destination may name only sources that exist', () => {
  const body = { ...given, sourceIds: ['shop', 'nope', 'Not An Id'] }
  const expected = ['/sourceIds/2 invalid_format', '/sourceIds/1 unknown_source']
  expect(faults(create(destinations, { ...at, body }, facts))).toEqual(expected)
})

test('a mask without a stored value is reported once, even for a required field', () => {
  const body = { ...given, webhooks: [{ url: 'https://crm.example/***' }] }
  expect(faults(create(destinations, { ...at, body }, facts))).toEqual(['/webhooks/0/url nothing_to_keep'])
})

test.each(['2036-01-01', '2036-02-30T00:00:00Z', '2036-01-01T00:00:00'])('%s is not a time', (time) => {
  const body = { ...given, sharedSecret: 'a', previousSecret: 'b', previousSecretExpiresAt: time }
  expect(create(destinations, { ...at, body }, facts)).toMatchObject({
    refusal: { faults: [{ message: 'give a time with its zone, such as 2026-01-02T03:04:05Z' }] },
  })
})

test('faults of shape, masks and rules between records are reported together', () => {
  const body = { ...given, id: 'crm', name: '', sharedSecret: '***', sourceIds: ['nope'], colour: 'red' }
  const expected = [
    '/sharedSecret nothing_to_keep',
    '/name too_short',
    '/colour unknown_field',
    '/id id_taken',
    '/sourceIds/0 unknown_source',
  ]
  expect(faults(create(destinations, { ...at, body }, facts))).toEqual(expected)
})

test('clients cannot set version and updatedAt', () => {
  const body = { name: 'Blog', version: 7, updatedAt: now }
  expect(faults(create(sources, { ...at, body }, facts))).toEqual([
    '/version unknown_field',
    '/updatedAt unknown_field',
  ])
})
