import { bodies } from '../load/calls.ts'

/** The baseline for the router: parses and prints each event. Forked; answers each message with the count. */
const texts = bodies(1)
const AT_ONCE = 500
let count = 0
/** Used, so that the compiler does not remove the loop. */
let length = 0

function go(): void {
  for (let index = 0; index < AT_ONCE; index++)
    length += JSON.stringify(JSON.parse(texts[(count + index) % texts.length] ?? '')).length
  count += AT_ONCE
  setImmediate(go)
}

process.on('message', () => process.send?.(length > 0 ? count : 0))
process.on('disconnect', () => process.exit())
go()
