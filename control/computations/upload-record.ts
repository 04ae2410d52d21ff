import type { OutRecord } from '../../kafka/produce.ts'
import type { Sync } from '../../schemas/task.ts'
import { UPLOADS } from '../../schemas/topics.ts'
import type { Change } from './diff.ts'

/** What an upload says of some users of one partition: a line of JSON for each, `[userId, value]`, the value as JSON or null. */
export const uploadRecord = (id: Sync['id'], partition: number, lines: readonly string[]): OutRecord => ({
  topic: UPLOADS,
  key: id,
  partition,
  value: lines.join('\n'),
})

export const lineOf = ({ userId, value }: Change) => JSON.stringify([userId, value])

export function* readLines(value: Buffer): Generator<Change> {
  for (const line of value.toString().split('\n')) {
    // as written by `lineOf`
    const [userId, said] = JSON.parse(line) as [string, string | null]
    yield { userId, value: said }
  }
}
