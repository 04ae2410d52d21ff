import { expect, test } from 'vitest'
import { errorText, hasErrorText } from '../../console/src/wording/error-codes.ts'
import { outcomeLabel } from '../../console/src/wording/states.ts'
import { visible } from '../../console/src/wording/visible.ts'
import { OUTCOMES } from '../../control/activity/attempts.ts'
import { errorCodes } from '../../delivery/outcome.ts'

/** Too rare for a text of their own. */
const isSystemError = (code: string) => /^E[A-Z_]+$/.test(code)

test('every error code of Sluice has a text', () => {
  const codes = new Set([...errorCodes.values()].map(({ code }) => code))
  const ours = [...codes].filter((code) => !isSystemError(code))
  expect(ours.length).toBeGreaterThan(10)
  const others = [
    'http_5xx',
    'http_429',
    'breaker_open',
    'queue_full',
    'destination_disabled',
    'destination_paused',
    'destination_deleted',
  ]
  expect([...ours, ...others].filter((code) => !hasErrorText(code))).toEqual([])
})

test('an unknown code is shown unchanged', () => {
  expect(errorText('EHOSTDOWN').meaning).toContain('EHOSTDOWN')
})

test('a redirect is named as such', () => {
  expect(errorText('http_301').meaning).toContain('redirects to another address')
  expect(errorText('http_410').meaning).toBe('The receiver did not accept the request.')
})

test('advice on a rejection promises no dead letter, because another webhook may have accepted the event', () => {
  for (const code of ['http_301', 'http_401', 'http_403', 'http_404', 'http_410'])
    expect(errorText(code).advice).toContain('then replay any dead letters')
})

test('every outcome has a label', () => {
  expect(OUTCOMES.filter((outcome) => outcomeLabel({ outcome, code: null }).label === outcome)).toEqual([])
})

test('a deferral is called held only if the destination was paused', () => {
  const labels = ['destination_paused', 'breaker_open', null].map(
    (code) => outcomeLabel({ outcome: 'deferred', code }).label,
  )
  expect(labels).toEqual(['Held', 'Deferred', 'Deferred'])
})

test('bidirectional controls in the text of others are shown as escapes, and its lines and scripts are kept', () => {
  expect(visible('paid\u202e 001\u202c\n\u2066x\u2069\u200f')).toBe(
    'paid\\u202e 001\\u202c\n\\u2066x\\u2069\\u200f',
  )
  expect(visible('שלום, 東京 👩‍💻')).toBe('שלום, 東京 👩‍💻')
})
