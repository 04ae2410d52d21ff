import { describe, expect, test } from 'vitest'
import { assumedSame, reveal } from '../../cli/settings/reveal-secrets.ts'

const url = 'https://crm.example/'
const stored = {
  id: 'crm',
  webhooks: [{ url, headers: { 'X-Key': '***', 'X-More': '***' } }],
  sharedSecret: '***',
  previousSecret: '***',
}
const headers = { 'X-Key': 'file-1', 'X-More': '***' }
const given = { id: 'crm', webhooks: [{ url, headers }], sharedSecret: 'file-2', previousSecret: 'file-3' }

describe('an existing record', () => {
  test('shows the secrets of the file in clear text where they are equal', () => {
    const { record, same } = reveal(stored, given, (at) => at !== '/previousSecret')
    expect(record).toMatchObject({ sharedSecret: 'file-2', webhooks: [{ headers: { 'X-Key': 'file-1' } }] })
    expect(same).toEqual(['/sharedSecret', '/webhooks/0/headers/X-Key'])
  })

  test('shows a unique text for each secret that differs or is not in the file', () => {
    const { record, same } = reveal(stored, { id: 'crm' }, () => true)
    const [webhook] = record.webhooks
    const texts = [record.sharedSecret, record.previousSecret, ...Object.values(webhook?.headers ?? {})]
    expect([same, new Set(texts).size]).toEqual([[], 4])
    expect(reveal(stored, given, () => false).record.sharedSecret).toBe(record.sharedSecret)
  })

  test('shows a write key in a valid form that no other source has', () => {
    const keyOf = (id: string) => reveal({ id, writeKey: '***' }, { id }, () => true).record.writeKey
    expect(keyOf('a')).toMatch(/^[\x21-\x39\x3b-\x7e]{8,128}$/)
    expect(keyOf('a')).not.toBe(keyOf('b'))
  })

  test('keeps what the API has shown, and is not changed itself', () => {
    const shown = { id: 'shop', writeKey: 'shop-write-key' }
    const source = { id: 'shop', writeKey: 'other-write-key' }
    expect(reveal(shown, source, () => true)).toEqual({ record: shown, same: [] })
    reveal(stored, given, () => true)
    expect(stored.sharedSecret).toBe('***')
  })
})

describe('without the API, all secrets count as equal, except those of a rotation that the file starts:', () => {
  const rotations = {
    'a signing secret': ['/sharedSecret', '/previousSecret', 'previousSecretExpiresAt'],
    'a write key': ['/writeKey', '/previousWriteKey', 'previousWriteKeyExpiresAt'],
  } as const

  test.each(Object.entries(rotations))('%s', (_, [current, previous, expiry]) => {
    const before = { [expiry]: '2026-02-01T00:00:00Z' }
    const taken = (file: object) =>
      [current, previous, '/webhooks/0/headers/X-Key'].filter(assumedSame(before, { ...file }))
    expect(taken({})).toHaveLength(3)
    expect(taken(before)).toHaveLength(3)
    expect(taken({ [expiry]: '2026-03-01T00:00:00Z' })).toEqual(['/webhooks/0/headers/X-Key'])
  })
})
