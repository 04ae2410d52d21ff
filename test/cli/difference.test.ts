import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { difference } from '../../cli/settings/difference.ts'
import { isObject } from '../../process/json-objects.ts'
import { settings } from './generated.ts'

const crm = {
  id: 'crm',
  name: 'CRM',
  sourceIds: ['shop'],
  webhooks: [{ url: 'https://a.example/', headers: { 'X-Team': 'hidden-1' } }],
  sharedSecret: 'hidden-2',
  version: 3,
  updatedAt: 'then',
}

describe('a difference', () => {
  test('is listed by field, with lists of plain values as one field', () => {
    const [webhook] = crm.webhooks
    const other = {
      ...crm,
      name: 'CRM 2',
      sourceIds: ['shop', 'web'],
      retryOn: [429],
      webhooks: [webhook, { url: 'https://b.example/', headers: {} }],
    }
    expect(difference(crm, other)).toEqual([
      { field: 'name', before: 'CRM', after: 'CRM 2' },
      { field: 'sourceIds', before: ['shop'], after: ['shop', 'web'] },
      { field: 'webhooks/1/url', after: 'https://b.example/' },
      { field: 'retryOn', after: [429] },
    ])
  })

  test.each([
    [{ a: 1 }, { a: 1, b: {} }],
    [{ 'a/b': 1 }, { a: { b: 1 } }],
    [[{ a: 1 }], { 0: { a: 1 } }],
    [[{ a: 1 }], [{ a: 1 }, {}]],
    [{ a: {} }, { a: [] }],
  ])('finds how the shape %j differs from %j', (one, other) => {
    const found = difference({ ...crm, rules: { shape: one } }, { ...crm, rules: { shape: other } })
    expect(found.length).toBeGreaterThan(0)
  })

  test('does not include fields that only the server sets', () => {
    const stamps = { version: 4, updatedAt: 'now', createdAt: 'now', lastSyncAt: 'now' }
    expect(difference(crm, { ...crm, ...stamps })).toEqual([])
  })

  test('includes secrets, but masks them', () => {
    const other = {
      ...crm,
      sharedSecret: 'hidden-3',
      writeKey: 'hidden-4',
      webhooks: [{ url: 'https://a.example/?token=hidden-6', headers: { 'X-Team': 'hidden-5' } }],
    }
    const told = difference(crm, other)
    expect(told.map(({ field }) => field).sort()).toEqual([
      'sharedSecret',
      'webhooks/0/headers/X-Team',
      'webhooks/0/url',
      'writeKey',
    ])
    expect(JSON.stringify(told)).not.toContain('hidden')
  })
})

const record = settings.map(({ sources, destinations }) => [...sources, ...destinations][0] ?? {})

test('two records differ in nothing exactly if they are equal', () => {
  const said = ({ id: _, ...fields }: { id?: string }) =>
    JSON.stringify(fields, (_, value: unknown) =>
      isObject(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value,
    )
  fc.assert(
    fc.property(record, record, (one, other) => {
      expect(difference(one, structuredClone(one))).toEqual([])
      if (said(one) !== said(other))
        expect(difference(one, other).length + difference(other, one).length).toBeGreaterThan(0)
    }),
  )
})

test('swapping two records swaps the sides of each difference', () => {
  fc.assert(
    fc.property(record, record, (one, other) => {
      const turned = difference(other, one).map(({ field, ...sides }) => ({
        field,
        ...('after' in sides && { before: sides.after }),
        ...('before' in sides && { after: sides.before }),
      }))
      const byField = (a: { field: string }, b: { field: string }) => (a.field < b.field ? -1 : 1)
      expect(turned.sort(byField)).toEqual(difference(one, other).sort(byField))
    }),
  )
})
