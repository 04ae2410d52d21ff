import type { Delivery } from '../schemas/delivery.ts'
import type { Event } from '../schemas/event.ts'
import type { Attributes } from './trace.ts'

/** Which event a span is about: ids alone, as logs have them. */
export const ofEvent = ({ sourceId, messageId, type }: Event): Attributes => ({
  'sluice.source.id': sourceId,
  'sluice.message.id': messageId,
  'sluice.event.type': type,
})

export const ofDelivery = (delivery: Delivery): Attributes => ({
  'sluice.source.id': delivery.sourceId,
  'sluice.message.id': delivery.messageId,
  'sluice.event.type': delivery.type,
  'sluice.destination.id': delivery.destinationId,
  'sluice.delivery.id': delivery.deliveryId,
  'sluice.attempt': delivery.attempt + 1,
})
