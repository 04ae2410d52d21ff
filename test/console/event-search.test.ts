import { expect, test } from 'vitest'
import {
  type FoundEvent,
  isPending,
  searchFromParams,
  toQuery,
  withUpdates,
} from '../../console/src/api/events.ts'
import { eventsQueryShape } from '../../control/activity/events/matches.ts'

const event = (
  messageId: string,
  state: 'waiting' | 'held' | 'delivered',
  fields: Partial<FoundEvent> = {},
): FoundEvent => ({
  messageId,
  type: 'track',
  userId: 'u1',
  anonymousId: null,
  event: 'Paid',
  name: null,
  sourceId: 'shop',
  receivedAt: '2026-01-02T03:04:05.678Z',
  call: {},
  rejected: null,
  destinations: [
    {
      destinationId: 'crm',
      deliveryId: 'd1',
      routed: true,
      reason: null,
      condition: null,
      state,
      attempts: [],
      nextAttemptAt: null,
      dead: null,
    },
  ],
  ...fields,
})

test('the address becomes an API query that covers half an hour before and after the time', () => {
  const search = searchFromParams(
    new URLSearchParams('messageId=m1&sourceId=shop&around=2026-01-02T03:04:00.000Z&other=1'),
  )
  if (!search) throw new Error('expected a search')
  expect(toQuery(search)).toEqual({
    messageId: 'm1',
    sourceId: 'shop',
    since: '2026-01-02T02:34:00.000Z',
    until: '2026-01-02T03:34:00.000Z',
  })
  expect(eventsQueryShape.safeParse(toQuery(search)).success).toBe(true)
  expect(toQuery({ by: 'userId', value: 'u1', around: 'never' })).toEqual({ userId: 'u1' })
  expect(searchFromParams(new URLSearchParams('sourceId=shop'))).toBeUndefined()
})

test('pending events are replaced by their newer versions, the others stay', () => {
  const found = [event('m1', 'waiting'), event('m2', 'delivered'), event('m1', 'held', { sourceId: 'blog' })]
  expect(found.map(isPending)).toEqual([true, false, true])
  const now = withUpdates(found, [event('m1', 'delivered')])
  expect(now.map(isPending)).toEqual([false, false, true])
})
