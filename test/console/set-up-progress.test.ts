import { expect, test } from 'vitest'
import {
  isSetUpUnfinished,
  nextStep,
  STEPS,
  setUpLinkLabel,
} from '../../console/src/views/destinations/set-up-progress.ts'

test('an unchanged destination that is off was never on, so its set-up continues', () => {
  expect(isSetUpUnfinished({ enabled: false, version: 1 })).toBe(true)
  expect(setUpLinkLabel({ enabled: false, version: 1 })).toBe('Continue setup')
})

test('a changed destination may have been on, so its set-up is not called unfinished', () => {
  expect(isSetUpUnfinished({ enabled: false, version: 2 })).toBe(false)
  expect(setUpLinkLabel({ enabled: false, version: 2 })).toBe('Test and turn on')
  expect(isSetUpUnfinished({ enabled: true, version: 1 })).toBe(false)
})

test('set-up continues with missing sources, else with the test', () => {
  expect(nextStep({ enabled: false, sourceIds: ['shop'] })).toBe(STEPS.test)
  expect(nextStep({ enabled: false, sourceIds: [] })).toBe(STEPS.sources)
  expect(nextStep({ enabled: true, sourceIds: ['shop'] })).toBe(STEPS.on)
})
