import { expect, test } from 'vitest'
import { goOnWith, isLeftOff, nextStep, STEPS } from '../../console/src/views/destinations/set-up-progress.ts'

test('one that is off as it was made was never on: its set-up goes on', () => {
  expect(isLeftOff({ enabled: false, version: 1 })).toBe(true)
  expect(goOnWith({ enabled: false, version: 1 })).toBe('Continue set-up')
})

test('of one that was changed since nobody knows whether it was on: nothing is said of its set-up', () => {
  expect(isLeftOff({ enabled: false, version: 2 })).toBe(false)
  expect(goOnWith({ enabled: false, version: 2 })).toBe('Test and turn on')
  expect(isLeftOff({ enabled: true, version: 1 })).toBe(false)
})

test('it goes on with what is missing first, else with the test', () => {
  expect(nextStep({ enabled: false, sourceIds: ['shop'] })).toBe(STEPS.test)
  expect(nextStep({ enabled: false, sourceIds: [] })).toBe(STEPS.sources)
  expect(nextStep({ enabled: true, sourceIds: ['shop'] })).toBe(STEPS.on)
})
