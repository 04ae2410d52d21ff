import { describe, expect, test } from 'vitest'
import { create, type Decided, remove, replace } from '../../control/decide.ts'
import { destinations } from '../../control/destinations.ts'
import { sources } from '../../control/sources.ts'
import { crm, factsOf, made, now, shop } from './in-memory.ts'

const facts = factsOf({ sources: [shop], destinations: [crm] })
const at = { now, made }

function faults(decided: Decided<unknown>): string[] {
  if (!('refusal' in decided) || !('faults' in decided.refusal))
    throw new Error(`not faulty: ${JSON.stringify(decided)}`)
  return decided.refusal.faults.map(({ pointer, code }) => `${pointer} ${code}`)
}

describe('creating', () => {
  test('a source needs a name only: it gets an id, a write key, and is on', () => {
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

  test('a client chooses id and write key', () => {
    const decided = create(
      sources,
      { ...at, body: { id: 'blog', name: 'Blog', writeKey: 'my-own-key' } },
      facts,
    )
    expect(decided).toMatchObject({ id: 'blog', record: { id: 'blog', writeKey: 'my-own-key' } })
  })

  test('an id or a write key that is taken is refused, both at once', () => {
    const body = { id: 'shop', name: 'Shop 2', writeKey: 'shop-write-key' }
    expect(faults(create(sources, { ...at, body }, facts))).toEqual([
      '/id id_taken',
      '/writeKey write_key_taken',
    ])
  })

  test('an id made of the name never replaces a record', () => {
    const taken = factsOf({ sources: [{ ...shop, id: 'blog-a1b2c3d4e5' }] })
    expect(faults(create(sources, { ...at, body: { name: 'Blog' } }, taken))).toEqual(['/id id_taken'])
  })

  test('the id of a source is free for a destination', () => {
    expect(create(destinations, { ...at, body: { ...given, id: 'shop' } }, facts)).toMatchObject({
      id: 'shop',
    })
  })

  test('a destination names sources that exist', () => {
    const body = { ...given, sourceIds: ['shop', 'nope', 'Not An Id'] }
    const expected = ['/sourceIds/2 invalid_format', '/sourceIds/1 unknown_source']
    expect(faults(create(destinations, { ...at, body }, facts))).toEqual(expected)
  })

  test('faults of shape, of masks and between records are told together', () => {
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

  test('version and updatedAt are not for clients to set', () => {
    const body = { name: 'Blog', version: 7, updatedAt: now }
    expect(faults(create(sources, { ...at, body }, facts))).toEqual([
      '/version unknown_field',
      '/updatedAt unknown_field',
    ])
  })
})

const given = { name: 'CRM', webhooks: [{ url: 'https://crm.example/hook' }] }

describe('replacing', () => {
  const asked = { ...at, now: '2026-02-02T00:00:00.000Z', id: 'crm', version: 2 }

  test('counts the version up; what is not given any more is gone', () => {
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

  test('another version than the present one is refused, with the present one', () => {
    for (const version of [1, 3])
      expect(replace(destinations, { ...asked, version, body: given }, facts)).toEqual({
        refusal: { code: 'version_mismatch', current: 2 },
      })
  })

  test('what is not there cannot be replaced', () => {
    expect(replace(destinations, { ...asked, id: 'nope', body: given }, facts)).toMatchObject({
      refusal: { code: 'not_found' },
    })
  })

  test('an id stays', () => {
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
})

describe('removing', () => {
  test('goes by the version, where one is given', () => {
    expect(remove(destinations, { id: 'crm', version: undefined }, facts)).toEqual({
      id: 'crm',
      record: null,
    })
    expect(remove(destinations, { id: 'crm', version: 2 }, facts)).toEqual({ id: 'crm', record: null })
    expect(remove(destinations, { id: 'crm', version: 1 }, facts)).toMatchObject({
      refusal: { code: 'version_mismatch' },
    })
  })

  test('what is not there cannot be removed', () => {
    expect(remove(sources, { id: 'nope', version: undefined }, facts)).toMatchObject({
      refusal: { code: 'not_found' },
    })
  })

  test('a source that destinations are connected to stays, and they are named', () => {
    const two = factsOf({ sources: [shop], destinations: [crm, { ...crm, id: 'erp', enabled: false }] })
    expect(remove(sources, { id: 'shop', version: undefined }, two)).toMatchObject({
      refusal: {
        code: 'in_use',
        faults: [
          { code: 'source_in_use', message: expect.stringContaining('crm') },
          { code: 'source_in_use', message: expect.stringContaining('erp') },
        ],
      },
    })
  })
})

function accepted<T>(decided: Decided<T>): { id: string; record: T | null } {
  if ('refusal' in decided) throw new Error(`refused: ${JSON.stringify(decided.refusal)}`)
  return decided
}
