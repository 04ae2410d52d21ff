import { monitor } from './monitor.ts'
import { setUp } from './set-up.ts'
import { onStage } from './stage.ts'

// the order matters: the first block needs an empty system
onStage({ 'setting up a destination': setUp, monitoring: monitor })
