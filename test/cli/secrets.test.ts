import { describe, expect, test } from 'vitest'
import { sentFor } from '../../cli/settings/secrets.ts'

const url = 'https://crm.example/'
const stored = { id: 'crm', webhooks: [{ url, headers: { 'X-Key': '***' } }], sharedSecret: '***' }
const given = { id: 'crm', webhooks: [{ url, headers: { 'X-Key': 'new-1' } }], sharedSecret: 'new-2' }

describe('a secret of a file', () => {
  test('is sent for a record that is not there yet', () => {
    expect(sentFor(given, undefined, false)).toEqual({ body: given, kept: [] })
  })

  test('is not sent where one is stored, and that is told', () => {
    const { body, kept } = sentFor(given, stored, false)
    expect(body).toEqual(stored)
    expect(kept).toEqual(['/sharedSecret', '/webhooks/0/headers/X-Key'])
  })

  test('is sent where all are to be written', () => {
    expect(sentFor(given, stored, true)).toEqual({ body: given, kept: [] })
  })

  test('is sent where none is stored: of a record, of a new header, of another URL', () => {
    const other = { url: 'https://other.example/', headers: { 'X-Key': 'new-4' } }
    const more = { ...given, webhooks: [{ url, headers: { 'x-key': 'new-1', 'X-More': 'new-3' } }, other] }
    const { webhooks } = stored
    expect(sentFor(more, { id: 'crm', webhooks }, false)).toEqual({
      body: { ...more, webhooks: [{ url, headers: { 'x-key': '***', 'X-More': 'new-3' } }, other] },
      kept: ['/webhooks/0/headers/x-key'],
    })
  })

  test('is sent when a rotation begins, and then no more', () => {
    const previousSecretExpiresAt = '2026-02-01T00:00:00Z'
    const rotating = { ...given, previousSecretExpiresAt }
    expect(sentFor(rotating, stored, false).body).toMatchObject({ sharedSecret: 'new-2' })
    const rotated = { ...stored, previousSecret: '***', previousSecretExpiresAt }
    expect(sentFor(rotating, rotated, false).body).toMatchObject({ sharedSecret: '***' })
    const next = { ...rotating, previousSecretExpiresAt: '2026-03-01T00:00:00Z' }
    expect(sentFor(next, rotated, false).body).toMatchObject({ sharedSecret: 'new-2' })
  })

  test('a write key is sent, as the API shows those that are stored; but not to who may not see them', () => {
    const source = { id: 'shop', writeKey: 'new-write-key' }
    expect(sentFor(source, { id: 'shop', writeKey: 'old-write-key' }, false)).toEqual({
      body: source,
      kept: [],
    })
    const unseen = sentFor(source, { id: 'shop', writeKey: '***' }, false)
    expect(unseen).toEqual({ body: { id: 'shop' }, kept: ['/writeKey'] })
  })

  test('that the file masks is left to the API', () => {
    expect(sentFor(stored, { id: 'crm', webhooks: [] }, false)).toEqual({ body: stored, kept: [] })
  })
})
