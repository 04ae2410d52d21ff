import { UNATTEMPTED } from '../../delivery/routing/routing.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import { EMPTY_EVENT } from '../../schemas/event-record.ts'
import type { Destination } from '../../settings/settings.ts'

export const anEvent = (fields: Partial<Event> = {}): Event => ({
  ...EMPTY_EVENT,
  messageId: 'm1',
  sourceId: 'shop',
  type: 'track',
  userId: 'u1',
  timestamp: 1_700_000_000_000,
  receivedAt: 1_700_000_000_000,
  ...fields,
})

export const aDestination = (fields: Partial<Destination> = {}): Destination => ({
  id: 'crm',
  type: 'Webhooks',
  name: 'CRM',
  enabled: true,
  sourceIds: ['shop'],
  webhooks: [{ url: 'http://127.0.0.1:9/hook', headers: {} }],
  version: 1,
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...fields,
})

export const aDelivery = (fields: Partial<Delivery> = {}): Delivery => ({
  deliveryId: '0123456789abcdef0123456789abcdef',
  messageId: 'm1',
  sourceId: 'shop',
  destinationId: 'crm',
  type: 'track',
  body: '{"version":1,"type":"track"}',
  routedAt: 1_699_900_000_000,
  ...UNATTEMPTED,
  ...fields,
})
