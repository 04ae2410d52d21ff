import type { OutRecord } from '../../kafka/produce.ts'
import type { Sync } from '../../schemas/task.ts'
import { MEMBERS, VALUES } from '../../schemas/topics.ts'
import type { Change } from './diff.ts'

/** Where it is kept what receivers were told last: one record a user. */
export const keptIn = { audience: MEMBERS, trait: VALUES } as const

export const memberKey = ({ id }: Sync['of'], userId: string) => `${id}/${userId}`

/**
 * `since`: when the audience or trait was created. One that is made again under the same id has nothing to do with what is left of
 * the first, should a crash have left something.
 */
export const memberRecord = ({ userId, value }: Change, of: Sync['of'], since: string): OutRecord => ({
  topic: keptIn[of.kind],
  key: memberKey(of, userId),
  value: value === null ? null : `{"since":${JSON.stringify(since)},"value":${value}}`,
})

/** @returns the value as JSON, undefined for what another of the same id has left. */
export function valueIn(record: Buffer, since: string): string | undefined {
  const text = record.toString()
  const before = `{"since":${JSON.stringify(since)},"value":`
  return text.startsWith(before) ? text.slice(before.length, -1) : undefined
}
