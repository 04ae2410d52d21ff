import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects everything that nothing refers to, except what the current turn has made. */
export const collectGarbage: () => void = runInNewContext('gc')
