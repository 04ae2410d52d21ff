import { afterAll, beforeAll, describe } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { monitor } from './monitor.ts'
import { setUp } from './set-up.ts'
import { manageSettings } from './settings.ts'
import { openStage, type Stage } from './stage.ts'

describe.skipIf(!chromiumPath)('the console in a browser', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterAll(() => stage?.close())

  // the order matters: the first block needs an empty system
  describe('setting up a destination', () => setUp(() => stage))
  describe('monitoring', () => monitor(() => stage))
  describe('managing settings', () => manageSettings(() => stage))
})
