import { expect, test } from 'vitest'
import { isKnown, saidOf } from '../../console/src/wording/error-codes.ts'
import { outcomeOf } from '../../console/src/wording/states.ts'
import { OUTCOMES } from '../../control/activity/attempts.ts'
import { errorCodes } from '../../delivery/outcome.ts'

/** The system's own names that no customer meets often enough for words of their own. */
const isSystems = (code: string) => /^E[A-Z_]+$/.test(code)

test('every code of an attempt that is ours is told in words, with what to do', () => {
  const codes = new Set([...errorCodes.values()].map(({ code }) => code))
  const ours = [...codes].filter((code) => !isSystems(code))
  expect(ours.length).toBeGreaterThan(10)
  const others = [
    'http_5xx',
    'http_429',
    'breaker_open',
    'queue_full',
    'destination_disabled',
    'destination_deleted',
  ]
  expect([...ours, ...others].filter((code) => !isKnown(code))).toEqual([])
})

test('a code that is not known is shown as it is', () => {
  expect(saidOf('EHOSTDOWN').says).toContain('EHOSTDOWN')
})

test('a redirect is named as one', () => {
  expect(saidOf('http_301').says).toContain('redirects to another address')
  expect(saidOf('http_410').says).toBe('The receiver did not accept the request.')
})

test('advice on a rejection does not promise a dead letter: another URL may have taken the event', () => {
  for (const code of ['http_301', 'http_401', 'http_403', 'http_404', 'http_410'])
    expect(saidOf(code).todo).toContain('then replay any dead letters')
})

test('every outcome has a name', () => {
  expect(OUTCOMES.filter((outcome) => outcomeOf(outcome).label === outcome)).toEqual([])
})
