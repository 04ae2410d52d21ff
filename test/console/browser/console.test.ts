import { afterAll, beforeAll, describe } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { listDeliveries } from './deliveries.ts'
import { monitor } from './monitor.ts'
import { managePeople } from './people.ts'
import { writeRules } from './rules.ts'
import { setUp } from './set-up.ts'
import { manageSettings } from './settings.ts'
import { smallThings } from './small-things.ts'
import { openStage, type Stage } from './stage.ts'
import { testAndRotate } from './test-and-secret.ts'

describe.skipIf(!chromiumPath)('the console in a browser', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterAll(() => stage?.close())

  // the first block needs an empty system
  describe('setting up a destination', () => setUp(() => stage))
  describe('monitoring', () => monitor(() => stage))
  describe('testing and rotating', () => testAndRotate(() => stage))
  describe('small things', () => smallThings(() => stage))
  describe('the deliveries of a destination', () => listDeliveries(() => stage))
  describe('the rules of a destination', () => writeRules(() => stage))
  describe('users, uploads and write keys', () => managePeople(() => stage))
  // ends the session of all others
  describe('managing settings', () => manageSettings(() => stage))
})
