import type { PreparedSystem } from '../../harness/prepare.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import type { Event } from '../../schemas/event.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { calls } from '../load/calls.ts'

const AT_ONCE = 5_000

/** Writes so many events of one source, as ingest does, each with an id of its own. */
export async function fillEvents({ connection, config }: PreparedSystem, events: number): Promise<void> {
  const producer = await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY })
  const codec = await openCodec(openRegistry(config.registry), 'event', `${connection.named(EVENTS)}-value`)
  const made = calls().map(eventOf)
  for (let from = 0; from < events; from += AT_ONCE) {
    const records = Array.from({ length: Math.min(AT_ONCE, events - from) }, (_, index) => {
      const event = made[(from + index) % made.length] as Event
      return {
        topic: EVENTS,
        key: `${event.sourceId}/${event.userId}`,
        value: codec.encode({
          ...event,
          messageId: `m-${from + index}`,
          // as if one came each millisecond
          timestamp: event.timestamp + from + index,
          receivedAt: Date.now(),
        }),
      }
    })
    await producer.produce(records)
  }
  await producer.close()
}

function eventOf(call: ReturnType<typeof calls>[number]): Event {
  return {
    messageId: '',
    sourceId: 'bench',
    type: 'track',
    userId: call.userId,
    anonymousId: call.anonymousId,
    event: call.event,
    name: null,
    category: null,
    groupId: null,
    previousId: null,
    properties: JSON.stringify(call.properties),
    traits: null,
    context: JSON.stringify(call.context),
    integrations: null,
    timestamp: Date.parse(call.timestamp),
    receivedAt: 0,
    sentAt: Date.parse(call.sentAt),
    originalTimestamp: Date.parse(call.timestamp),
  }
}
