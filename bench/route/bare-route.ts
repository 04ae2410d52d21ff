import { bodies } from '../load/calls.ts'

/** What the router is measured against: each event parsed and printed. To be forked; tells how many at each question. */
const texts = bodies(1)
const AT_ONCE = 500
let count = 0
/** What is made must not be found to be of no use. */
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
