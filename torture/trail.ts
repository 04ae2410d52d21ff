import type { OffsetRange } from '../harness/kafka/disk.ts'
import type { ReadRecord } from '../harness/kafka/topics.ts'
import type { Attempt } from '../schemas/attempt.ts'
import type { Delivery } from '../schemas/delivery.ts'
import { type Cut, isReported } from './account.ts'

/** A record of a delivery. `key`: `destinationId messageId`. */
export type Step = Pick<ReadRecord, 'partition' | 'offset' | 'writtenAt' | 'headers'> & {
  key: string
  topic: string
  content: Delivery | Attempt
}

type Found = {
  keys: readonly string[]
  steps: readonly Step[]
  cuts: readonly Cut[]
  reported: readonly OffsetRange[]
}

/** For each delivery, what topics hold of it, in the order of writing, and what power cuts removed. */
export function trailText({ keys, steps, cuts, reported }: Found): string {
  const byKey = Map.groupBy(steps, ({ key }) => key)
  const trails = keys.map((key) => {
    const its = (byKey.get(key) ?? []).toSorted((one, other) => one.writtenAt - other.writtenAt)
    const lost = cuts.flatMap((cut) => lostOf(key, cut, reported))
    return [key, ...its.map(inWords), ...lost].join('\n  ')
  })
  return `${trails.join('\n')}\n`
}

function inWords({ topic, partition, offset, writtenAt, headers, content }: Step): string {
  const about = 'body' in content ? { ...content, body: undefined, headers } : content
  return `${new Date(writtenAt).toISOString()} ${topic}-${partition}@${offset} ${JSON.stringify(about)}`
}

function lostOf(key: string, cut: Cut, reported: readonly OffsetRange[]): string[] {
  const { topic, partition, keys = new Map<number, string>() } = cut
  return [...keys].flatMap(([offset, its]) => {
    if (its !== key) return []
    const known = isReported(cut, offset, reported)
      ? 'reported'
      : cut.isUnwitnessed
        ? 'unwitnessed'
        : 'unreported'
    return `lost: ${topic}-${partition}@${offset}, ${known}`
  })
}
