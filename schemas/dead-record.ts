import type { OutRecord } from '../kafka/produce/produce.ts'
import type { Codec } from './codec.ts'
import type { Delivery } from './delivery.ts'
import { DEAD } from './topics.ts'

/** Where an event is in topic `events`. */
export type EventPlace = { partition: number; offset: number }

/** `code`: what failed. */
export type RulesFailed = { delivery: Delivery; key: string; code: string }

/** The dead letter of a delivery that a destination's rules could not make. It names its event, so that a replay can run the rules again. */
export const rulesFailedRecord = (
  { delivery, key, code }: RulesFailed,
  { partition, offset }: EventPlace,
  encode: Codec<Delivery>['encode'],
): OutRecord => ({
  topic: DEAD,
  key,
  value: encode(delivery),
  headers: { reason: 'rules_failed', code, event: `${partition}/${offset}` },
})

/** @returns undefined if the headers of a dead letter name no event. */
export function eventPlaceIn(headers: Readonly<Record<string, unknown>> | undefined): EventPlace | undefined {
  const [, partition, offset] = /^(\d{1,9})\/(\d{1,15})$/.exec(String(headers?.event)) ?? []
  if (partition === undefined || offset === undefined) return undefined
  return { partition: Number(partition), offset: Number(offset) }
}
