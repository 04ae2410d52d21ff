import { describe, expect, test } from 'vitest'
import { remove } from '../../settings/resources/decide.ts'
import { destinations } from '../../settings/resources/destinations.ts'
import { sources } from '../../settings/resources/sources.ts'
import { crm, factsOf, shop } from '../control/in-memory.ts'

const facts = factsOf({ sources: [shop], destinations: [crm] })

test('respects the version, if one is given', () => {
  const removed = { id: 'crm', record: null, old: crm }
  expect(remove(destinations, { id: 'crm', version: undefined }, facts)).toEqual(removed)
  expect(remove(destinations, { id: 'crm', version: 2 }, facts)).toEqual(removed)
  expect(remove(destinations, { id: 'crm', version: 1 }, facts)).toMatchObject({
    refusal: { code: 'version_mismatch' },
  })
})

test('a missing record cannot be removed', () => {
  expect(remove(sources, { id: 'nope', version: undefined }, facts)).toMatchObject({
    refusal: { code: 'not_found' },
  })
})

test('a source with connected destinations cannot be removed, and they are named', () => {
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

describe('a setting whose record cannot be read', () => {
  const lost = {
    kind: 'destination',
    id: 'lost',
    reason: 'it is not a JSON object',
    since: 0,
    isKept: false,
  } as const
  const unread = factsOf({ sources: [shop], destinations: [crm], unreadable: [lost] })

  test('is removed at any version, because its version is unknown', () => {
    for (const version of [undefined, 1, 7])
      expect(remove(destinations, { id: 'lost', version }, unread)).toEqual({
        id: 'lost',
        record: null,
        old: undefined,
      })
  })

  test('is removed by its last good version if that is known', () => {
    const kept = factsOf({ destinations: [crm], unreadable: [{ ...lost, id: 'crm', isKept: true }] })
    expect(remove(destinations, { id: 'crm', version: 2 }, kept)).toEqual({
      id: 'crm',
      record: null,
      old: crm,
    })
    expect(remove(destinations, { id: 'crm', version: 1 }, kept)).toMatchObject({
      refusal: { code: 'version_mismatch' },
    })
  })
})
