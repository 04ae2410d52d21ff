import { expect, test } from 'vitest'
import { authenticator, bearer, type Tokens } from '../../../../control/api/auth/tokens.ts'

/** Whose a header's token is. */
function headerOf(tokens: Tokens): (header: string | undefined) => string | undefined {
  const authenticate = authenticator(tokens)
  return (header) => {
    const token = bearer(header)
    return token === undefined ? undefined : authenticate(token)
  }
}

const both = headerOf({ admin: 'admin-token-123456', view: 'view-token' })

test('the control token is the admin, the view token a reader', () => {
  expect(both('Bearer admin-token-123456')).toBe('admin')
  expect(both('Bearer view-token')).toBe('view')
})

test('the scheme is read in any capitals', () => {
  expect(both('bearer view-token')).toBe('view')
})

test.each([
  ['no header', undefined],
  ['an empty one', ''],
  ['no token', 'Bearer '],
  ['another scheme', 'Basic admin-token-123456'],
  ['a token without scheme', 'admin-token-123456'],
  ['a beginning of the token', 'Bearer admin-token-12345'],
  ['more than the token', 'Bearer admin-token-1234567'],
  ['two tokens', 'Bearer view-token admin-token-123456'],
])('%s is nobody', (_, header) => {
  expect(both(header)).toBeUndefined()
})

test('without a view token nobody only reads, also not with an empty one', () => {
  const adminOnly = headerOf({ admin: 'admin-token-123456' })
  expect(adminOnly('Bearer view-token')).toBeUndefined()
  expect(headerOf({ admin: '', view: '' })('Bearer ')).toBeUndefined()
  expect(authenticator({ admin: '', view: '' })('')).toBeUndefined()
})
