import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** What nothing refers to is gone when it returns, unless the turn that made it has not ended. */
export const collectGarbage: () => void = runInNewContext('gc')
