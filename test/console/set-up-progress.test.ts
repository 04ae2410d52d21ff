import { expect, test } from 'vitest'
import { nextStep, STEPS, wasNeverOn } from '../../console/src/views/destinations/set-up-progress.ts'

test('a destination that is off was never on if this is its first version; later versions may have been on', () => {
  expect(wasNeverOn({ enabled: false, version: 1 })).toBe(true)
  expect(wasNeverOn({ enabled: false, version: 2 })).toBe(false)
  expect(wasNeverOn({ enabled: true, version: 1 })).toBe(false)
})

test('set-up continues with missing sources, else with the test', () => {
  expect(nextStep({ enabled: false, sourceIds: ['shop'] })).toBe(STEPS.test)
  expect(nextStep({ enabled: false, sourceIds: [] })).toBe(STEPS.sources)
  expect(nextStep({ enabled: true, sourceIds: ['shop'] })).toBe(STEPS.on)
})
