import type { OutRecord } from '../kafka/produce.ts'
import type { Codec } from '../schemas/codec.ts'
import type { Event } from '../schemas/event.ts'
import { openCodec, type Registry } from '../schemas/registry.ts'
import type { Rejected } from '../schemas/rejected.ts'
import { EVENTS, REJECTED } from '../schemas/topics.ts'

export type Encoders = { event: Codec<Event>['encode']; rejected: Codec<Rejected>['encode'] }

/** Encoders that write the ids under which the topics' schemas are registered. */
export async function openEncoders(registry: Registry, named: (topic: string) => string): Promise<Encoders> {
  const event = await openCodec(registry, 'event', `${named(EVENTS)}-value`)
  const rejected = await openCodec(registry, 'rejected', `${named(REJECTED)}-value`)
  return { event: event.encode, rejected: rejected.encode }
}

export function rejectedRecord(rejected: Rejected, encode: Encoders['rejected']): OutRecord {
  return { topic: REJECTED, key: rejected.sourceId, value: encode(rejected) }
}
