import { expect, test } from 'vitest'
import { ApiError } from '../../console/src/api/client/errors.ts'
import { isAlreadySaved, unlessSaved } from '../../console/src/api/client/repeated-change.ts'

const sent = { id: 'crm', name: 'CRM', webhooks: [{ url: 'https://a.example/', headers: {} }] }
const stored = { ...sent, version: 3, updatedAt: '2026-01-02T03:04:05.000Z' }

test('a change is already saved if the record differs only in its version', () => {
  expect(isAlreadySaved(sent, stored)).toBe(true)
  expect(isAlreadySaved(sent, { ...stored, name: 'Theirs' })).toBe(false)
  expect(isAlreadySaved(sent, { ...stored, enabled: false })).toBe(false)
  expect(isAlreadySaved({ ...sent, retryOn: [429] }, stored)).toBe(false)
})

test('keys that control keeps or generates are compared only if they were sent', () => {
  expect(isAlreadySaved(sent, { ...stored, writeKey: 'key-1', hashKey: '***' })).toBe(true)
  expect(isAlreadySaved({ ...sent, writeKey: 'key-2' }, { ...stored, writeKey: 'key-1' })).toBe(false)
})

test('a conflict remains if the record differs or cannot be read; other errors pass through', async () => {
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
