import { render } from '../../delivery/render.ts'
import type { Posting } from '../../delivery/request.ts'
import { deliveryId } from '../../delivery/routing.ts'
import type { Event, EventType } from '../../schemas/event.ts'
import { EMPTY_EVENT } from '../../schemas/event-record.ts'

const NO_SOURCE = ''

/** `uuid`: random, so that each test has ids that no receiver has seen. `now`: ms since 1970. */
export type SampleOf = { destinationId: string; uuid: string; now: number }

/** What a delivery of that type posts, of a user and a group that are nobody's. */
export function sample(type: EventType, { destinationId, uuid, now }: SampleOf): Posting {
  const event: Event = {
    ...EMPTY_EVENT,
    sourceId: NO_SOURCE,
    type,
    messageId: `test-${uuid}`,
    userId: 'test-user',
    context: CONTEXT,
    timestamp: now,
    receivedAt: now,
    ...SAMPLES[type],
  }
  const { messageId } = event
  return { deliveryId: deliveryId(destinationId, event), messageId, body: render(event), replay: false }
}

/** A phone's. */
const CONTEXT = JSON.stringify({
  device: { model: 'iPhone7,2', type: 'ios' },
  os: { name: 'iPhone OS', version: '8.1.3' },
  app: { build: '3.0.1.545', name: 'Shop', version: '1.1' },
})

const SAMPLES: Record<EventType, Partial<Event>> = {
  identify: { traits: JSON.stringify({ name: 'Test User', plan: 'pro', logins: 5 }) },
  track: { event: 'Test Event', properties: JSON.stringify({ plan: 'pro', total: '12.50' }) },
  page: {
    properties: JSON.stringify({ path: '/', referrer: '', title: 'Shop', url: 'https://shop.example/' }),
  },
  screen: { name: 'Home' },
  group: { groupId: 'test-group', traits: JSON.stringify({ 'Company Name': 'Test Company', employees: 12 }) },
  alias: { previousId: 'test-user-before' },
  delete: {},
}
