import { expect, test } from 'vitest'
import {
  ApiError,
  remainingFaults,
  toApiError,
  toChangeError,
  uncorrected,
  validationError,
} from '../../console/src/api/client/errors.ts'
import { secretError } from '../../console/src/views/destinations/secret-faults.ts'
import { draftFaults, newHeader, newWebhook } from '../../console/src/views/webhooks/draft.ts'
import { rotationFaults, SHARED_SECRET } from '../../settings/resources/secret-rotation.ts'

const fault = (pointer: string) => ({ pointer, code: 'invalid_value', message: 'wrong' }) as const
const sent = { name: '', webhooks: [{ url: 'a', headers: { 'X/A~': '1' } }] }
const pointers = (error: unknown) =>
  error instanceof ApiError ? error.faults.map(({ pointer }) => pointer) : error

test('a fault stays as long as the value at its pointer is what was sent', () => {
  const error = validationError(['/name', '/webhooks/0/url', '/webhooks/0/headers/X~1A~0'].map(fault))
  expect(uncorrected(error, sent, structuredClone(sent))).toBe(error)
  expect(pointers(uncorrected(error, sent, { ...sent, name: 'CRM' }))).toEqual([
    '/webhooks/0/url',
    '/webhooks/0/headers/X~1A~0',
  ])
  const renamed = { ...sent, webhooks: [{ url: 'a', headers: { 'X-A': '1' } }] }
  expect(pointers(uncorrected(error, sent, renamed))).toEqual(['/name', '/webhooks/0/url'])
  expect(uncorrected(error, sent, { name: 'CRM', webhooks: [{ url: 'b', headers: {} }] })).toBeUndefined()
})

test('when a refused secret changes, only the faults of the secret disappear', () => {
  const error = validationError(['/sharedSecret', '/webhooks/0/headers'].map(fault))
  expect(pointers(secretError(error, { sent: 'a', typed: 'a' }))).toEqual([
    '/sharedSecret',
    '/webhooks/0/headers',
  ])
  expect(pointers(secretError(error, { sent: 'a', typed: 'b' }))).toEqual(['/webhooks/0/headers'])
})

test('replacing a secret by itself is a fault of the secret', () => {
  const body = { sharedSecret: 'a', previousSecretExpiresAt: '2026-01-02T00:00:00.000Z' }
  const by = { old: { sharedSecret: 'a' }, now: '2026-01-01T00:00:00.000Z' }
  const error = validationError(rotationFaults(body, by, SHARED_SECRET))
  expect(secretError(error, { sent: 'a', typed: 'a' })).toMatchObject({
    faults: [{ pointer: '/sharedSecret', message: 'This is already the current secret. Enter another one.' }],
  })
  expect(secretError(error, { sent: 'a', typed: 'b' })).toBeUndefined()
})

test('an error without faults stays until the next request', () => {
  const error = new ApiError({ code: 'unreachable', message: 'down', errors: [] }, 0)
  expect(uncorrected(error, sent, {})).toBe(error)
  expect(uncorrected(undefined, sent, {})).toBeUndefined()
})

test('a fault that the form found itself goes when it is gone, and no new one appears', () => {
  const header = (name: string) => ({ ...newHeader(), name, value: 'v' })
  const twice = [{ ...newWebhook(), url: 'https://a.example/', headers: [header('X-A'), header('x-a')] }]
  const faults = draftFaults(twice)
  expect(faults).toHaveLength(1)
  expect(remainingFaults(faults, draftFaults(twice))).toEqual(faults)
  const corrected = twice.map((one) => ({ ...one, headers: [header('X-A'), header('X-B')] }))
  expect(remainingFaults(faults, draftFaults(corrected))).toEqual([])
  expect(remainingFaults(faults, draftFaults([...corrected, newWebhook()]))).toEqual([])
})

test("a proxy's limit on the size is not worth another try, unlike its other errors", () => {
  expect(toApiError(undefined, 502).message).toMatch(/answered 502. Try again in a moment/)
  expect(toApiError('<html>', 413).message).toMatch(/answered 413. What you sent is larger than it allows/)
})

test('a change without a session says to try again, which works after the next sign-in', () => {
  const body = {
    code: 'unauthorized',
    message: 'Send Authorization: Bearer with a control token',
    errors: [],
  }
  const { code, status, message } = toChangeError(body, 401)
  expect([code, status, message]).toEqual(['unauthorized', 401, 'Your session had ended. Try again.'])
  expect(toChangeError({ ...body, code: 'csrf' }, 403)).toMatchObject({ code: 'csrf', message: body.message })
  // a sign-in with a wrong token
  expect(toApiError(body, 401).message).toBe(body.message)
})
