import type { OutRecord } from '../kafka/produce/produce.ts'
import type { PartitionOffset } from '../kafka/topic-partition.ts'
import type { Codec } from './codec.ts'
import type { Delivery } from './delivery.ts'
import { DEAD } from './topics.ts'

/** `code`: why the rules failed. */
export type RulesFailed = { delivery: Delivery; key: string; code: string }

/** Names the event by its place in topic `events`, so that a replay can run the rules again. */
export const rulesFailedRecord = (
  { delivery, key, code }: RulesFailed,
  { partition, offset }: PartitionOffset,
  encode: Codec<Delivery>['encode'],
): OutRecord => ({
  topic: DEAD,
  key,
  value: encode(delivery),
  headers: { reason: 'rules_failed', code, event: `${partition}/${offset}` },
})

/** @returns why rules failed; null in other dead letters. */
export function rulesCodeIn(headers: Readonly<Record<string, unknown>>): string | null {
  const { reason, code } = headers
  return String(reason) === 'rules_failed' && code !== undefined ? String(code) : null
}

/** @returns undefined if the headers name no event. */
export function eventPlaceIn(
  headers: Readonly<Record<string, unknown>> | undefined,
): PartitionOffset | undefined {
  const [, partition, offset] = /^(\d{1,9})\/(\d{1,15})$/.exec(String(headers?.event)) ?? []
  if (partition === undefined || offset === undefined) return undefined
  return { partition: Number(partition), offset: Number(offset) }
}
