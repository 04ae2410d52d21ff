import { describe, expect, test } from 'vitest'
import { createIndex } from '../../settings/lookup.ts'
import { mask } from '../../settings/mask.ts'
import { create, type Decided, replace } from '../../settings/resources/decide.ts'
import { sources } from '../../settings/resources/sources.ts'
import type { Source } from '../../settings/settings.ts'
import { factsOf, faults, made, now, shop, unreachable } from '../control/in-memory.ts'

const until = '2026-02-01T00:00:00Z'
const past = '2025-02-01T00:00:00Z'
const replaced: Source = { ...shop, previousWriteKey: 'older-write-key', previousWriteKeyExpiresAt: until }
const ended: Source = { ...replaced, previousWriteKeyExpiresAt: past }
const web: Source = { ...shop, id: 'web', name: 'Web', writeKey: 'web-write-key' }

const put = (old: Source, body: object, others: Source[] = []) =>
  replace(
    sources,
    { now, made, unreachable, id: 'shop', version: old.version, body: { name: 'Shop', ...body } },
    factsOf({ sources: [old, ...others] }),
  )

function keysIn(decided: Decided<Source>) {
  if ('refusal' in decided || !decided.record) throw new Error(`refused: ${JSON.stringify(decided)}`)
  const { writeKey, previousWriteKey, previousWriteKeyExpiresAt } = decided.record
  return [writeKey, previousWriteKey, previousWriteKeyExpiresAt]
}

describe('a write key is replaced', () => {
  test('with an overlap: the current one becomes the previous', () => {
    const body = { writeKey: 'new-write-key', previousWriteKeyExpiresAt: until }
    expect(keysIn(put(shop, body))).toEqual(['new-write-key', 'shop-write-key', until])
    expect(keysIn(put(replaced, body))).toEqual(['new-write-key', 'shop-write-key', until])
  })

  test('again with the same request, which changes nothing', () => {
    const body = { writeKey: 'new-write-key', previousWriteKeyExpiresAt: until }
    const once: Source = { ...replaced, writeKey: 'new-write-key', previousWriteKey: 'shop-write-key' }
    expect(keysIn(put(once, body))).toEqual(['new-write-key', 'shop-write-key', until])
  })

  test('without an overlap: the current one, and one before, end at once', () => {
    expect(keysIn(put(replaced, { writeKey: 'new-write-key' }))).toEqual([
      'new-write-key',
      undefined,
      undefined,
    ])
  })

  test.each<[string, Source, object, string]>([
    [
      'with an overlap that is over',
      shop,
      { writeKey: 'new-write-key', previousWriteKeyExpiresAt: past },
      '/previousWriteKeyExpiresAt already_past',
    ],
    [
      'with an expiry but without a new key',
      shop,
      { previousWriteKeyExpiresAt: until },
      '/previousWriteKey required',
    ],
    [
      'with a previous key that never ends',
      shop,
      { previousWriteKey: 'older-write-key' },
      '/previousWriteKeyExpiresAt required',
    ],
    [
      'so that the current one is lost',
      replaced,
      { writeKey: 'new-write-key', previousWriteKey: '***', previousWriteKeyExpiresAt: until },
      '/previousWriteKey outdated_secret',
    ],
    [
      'by itself',
      shop,
      { previousWriteKey: '***', previousWriteKeyExpiresAt: until },
      '/previousWriteKey nothing_to_keep',
    ],
    [
      'with a previous key that is the current one',
      shop,
      { previousWriteKey: 'shop-write-key', previousWriteKeyExpiresAt: until },
      '/previousWriteKey duplicate_value',
    ],
  ])('but not %s', (_how, old, body, fault) => {
    expect(faults(put(old, body))[0]).toBe(fault)
  })
})

describe('the previous write key', () => {
  test('stays when a replacement names neither key', () => {
    expect(keysIn(put(replaced, {}))).toEqual(['shop-write-key', 'older-write-key', until])
  })

  test('is forgotten by the next replacement after its end', () => {
    expect(keysIn(put(ended, {}))).toEqual(['shop-write-key', undefined, undefined])
  })

  test('stays with its mask, and its end can be moved', () => {
    const body = { writeKey: '***', previousWriteKey: '***', previousWriteKeyExpiresAt: past }
    expect(keysIn(put(replaced, body))).toEqual(['shop-write-key', 'older-write-key', past])
  })

  test.each([replaced, ended])('cannot be the key of another source, even after its end', (old) => {
    const facts = factsOf({ sources: [old] })
    const body = { name: 'Web', writeKey: 'older-write-key' }
    expect(faults(create(sources, { now, made, unreachable, body }, facts))).toEqual([
      '/writeKey write_key_taken',
    ])
    const previous = { previousWriteKey: 'web-write-key', previousWriteKeyExpiresAt: until }
    expect(faults(put(shop, previous, [web]))).toEqual(['/previousWriteKey write_key_taken'])
  })

  test('finds its source until its end, and not a millisecond longer', () => {
    const index = createIndex()
    index.set('source/shop', { kind: 'source', value: replaced })
    const end = Date.parse(until)
    const found = (key: string, at: number) => index.senderByWriteKey(key, at)?.id
    expect([found('older-write-key', end - 1), found('older-write-key', end)]).toEqual(['shop', undefined])
    expect([found('shop-write-key', end), found('unknown-key', end)]).toEqual(['shop', undefined])
  })

  test('is shown to the admin only', () => {
    expect(mask(replaced, 'admin')).toEqual(replaced)
    expect(mask(replaced, 'view')).toMatchObject({ writeKey: '***', previousWriteKey: '***' })
  })
})
