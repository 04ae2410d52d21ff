import { expect, test } from 'vitest'
import type { DestinationNow } from '../../console/src/api/health.ts'
import { destinationState } from '../../console/src/views/overview/destination-state.ts'

test('a destination without data is unknown, not idle', () => {
  expect(destinationState({ enabled: true, sourceIds: ['shop'] }, undefined).label).toBe('Unknown')
})

const healthy: DestinationNow = {
  ...{ destinationId: 'crm', delivered: 1, rejected: 0, retry: 0, refused: 0, deferred: 0, dead: 0 },
  ...{ p50: 1, p99: 1, breaker: 'closed', state: 'healthy', rejectedStatus: null },
}
const stateOf = (now: Partial<DestinationNow>) =>
  destinationState({ enabled: true, sourceIds: ['shop'] }, { ...healthy, ...now })

test('a destination is rejecting while a webhook is, and not for the minute after its URL was corrected', () => {
  expect(stateOf({ rejected: 9, state: 'rejecting', rejectedStatus: 404 }).label).toBe('Rejecting: 404')
  const dead = stateOf({ rejected: 9, dead: 9 })
  expect(dead).toMatchObject({ label: 'Healthy, 9 dead', color: 'yellow' })
  expect(dead.explanation).toContain('dead letters')
  const failed = stateOf({ rejected: 9 })
  expect(failed).toMatchObject({ label: 'Healthy, 9 failed', color: 'yellow' })
  expect(failed.explanation).toContain('failed or were rejected')
  expect(dead.weight).toBeGreaterThan(failed.weight)
  expect(stateOf({})).toMatchObject({ label: 'Healthy', color: 'green' })
})

test('a destination with an open breaker is failing, even if it answers 503', () => {
  expect(stateOf({ delivered: 0, retry: 3, breaker: 'open', state: 'failing' }).label).toBe('Failing')
})

test('a destination that is both off and paused is shown as off, and listed after paused ones', () => {
  const now: DestinationNow = { ...healthy, state: 'paused' }
  const of = (settings: { enabled: boolean; paused?: boolean }) =>
    destinationState({ sourceIds: ['shop'], ...settings }, now)
  const [off, both] = [of({ enabled: false }), of({ enabled: false, paused: true })]
  const paused = of({ enabled: true, paused: true })
  expect([off.label, both.label, paused.label]).toEqual(['Off', 'Off', 'Paused'])
  expect(paused.weight).toBeGreaterThan(off.weight)
})
