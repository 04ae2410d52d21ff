import { readFileSync } from 'node:fs'

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** The flags with which `npm start` runs its processes. */
export const NODE_FLAGS: readonly string[] = scripts.start.match(/--\S+/g)
