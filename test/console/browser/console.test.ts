import { afterAll, beforeAll, describe } from 'vitest'
import { chromiumPath } from './chromium.ts'
import { lookInto } from './look-into.ts'
import { setUp } from './set-up.ts'
import { keepSettings } from './settings.ts'
import { openStage, type Stage } from './stage.ts'

describe.skipIf(!chromiumPath)('the console, in a browser', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage()
  })
  afterAll(() => stage?.close())

  // in this order: the first begins with an empty system
  describe('who sets up a destination', () => setUp(() => stage))
  describe('who looks into what goes on', () => lookInto(() => stage))
  describe('who keeps settings', () => keepSettings(() => stage))
})
