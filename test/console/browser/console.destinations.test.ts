import { listDeliveries } from './deliveries.ts'
import { openPortal } from './portal.ts'
import { smallThings } from './small-things.ts'
import { onStage } from './stage.ts'
import { testAndRotate } from './test-and-secret.ts'

onStage({
  'testing and rotating': testAndRotate,
  'small things': smallThings,
  'the deliveries of a destination': listDeliveries,
  'the portal of a workspace': openPortal,
})
