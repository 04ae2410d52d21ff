import { expect, test } from 'vitest'
import { ApiError } from '../../console/src/api/client/errors.ts'
import { isAlreadySaved, unlessSaved } from '../../console/src/api/client/repeated-change.ts'

const sent = { id: 'crm', name: 'CRM', webhooks: [{ url: 'https://a.example/', headers: {} }] }
const stored = { ...sent, version: 3, updatedAt: '2026-01-02T03:04:05.000Z' }

test('a record is already saved if only its version differs from what was sent', () => {
  expect(isAlreadySaved(sent, stored)).toBe(true)
  expect(isAlreadySaved(sent, { ...stored, name: 'Theirs' })).toBe(false)
  expect(isAlreadySaved(sent, { ...stored, enabled: false })).toBe(false)
  expect(isAlreadySaved({ ...sent, retryOn: [429] }, stored)).toBe(false)
})

test('a key that control keeps or generates does not count unless it was sent', () => {
  expect(isAlreadySaved(sent, { ...stored, writeKey: 'key-1', hashKey: '***' })).toBe(true)
  expect(isAlreadySaved({ ...sent, writeKey: 'key-2' }, { ...stored, writeKey: 'key-1' })).toBe(false)
})

test('a conflict stays one if the record is another or cannot be read; other errors are not looked into', async () => {
  const failed = (code: string) =>
    Promise.reject(new ApiError({ code, message: 'it failed', errors: [] }, 412))
  const read = async () => stored
  expect(await unlessSaved(failed('version_mismatch'), { sent, read })).toBe(stored)
  const elsewhere = async () => ({ ...stored, name: 'Theirs' })
  await expect(unlessSaved(failed('version_mismatch'), { sent, read: elsewhere })).rejects.toThrow(
    'it failed',
  )
  const unreadable = () => failed('unreachable')
  await expect(unlessSaved(failed('version_mismatch'), { sent, read: unreadable })).rejects.toThrow(
    'it failed',
  )
  await expect(unlessSaved(failed('validation_failed'), { sent, read })).rejects.toThrow('it failed')
})
