import type { Delivery } from '../../console/src/api/deliveries.ts'

export const delivery = (
  id: string,
  state: Delivery['state'] = 'delivered',
  fields: Partial<Delivery> = {},
): Delivery => ({
  id,
  deliveryId: 'a',
  messageId: 'm1',
  sourceId: 'shop',
  destinationId: 'crm',
  type: 'track',
  event: 'Paid',
  user: 'u1',
  routedAt: '2026-01-02T03:04:05.000Z',
  replay: false,
  state,
  attemptCount: 1,
  lastStatus: 200,
  lastCode: null,
  lastAttemptAt: '2026-01-02T03:04:05.100Z',
  deadLetter: null,
  nextAttemptAt: null,
  ...fields,
})
