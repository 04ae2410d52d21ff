import { expect, test } from 'vitest'
import { type FoundEvent, isOpen, queryOf, refreshed, searchIn } from '../../console/src/api/search.ts'
import { eventsQueryShape } from '../../control/activity/events/matches.ts'

const event = (
  messageId: string,
  state: 'waiting' | 'delivered',
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
      state,
      attempts: [],
      nextAttemptAt: null,
      dead: null,
    },
  ],
  ...fields,
})

test('what the address asks for is what the API is asked, with an hour around the time', () => {
  const search = searchIn(
    new URLSearchParams('messageId=m1&sourceId=shop&around=2026-01-02T03:04:00.000Z&other=1'),
  )
  if (!search) throw new Error('there is one')
  expect(queryOf(search)).toEqual({
    messageId: 'm1',
    sourceId: 'shop',
    since: '2026-01-02T02:34:00.000Z',
    until: '2026-01-02T03:34:00.000Z',
  })
  expect(eventsQueryShape.safeParse(queryOf(search)).success).toBe(true)
  expect(queryOf({ by: 'userId', value: 'u1', around: 'never' })).toEqual({ userId: 'u1' })
  expect(searchIn(new URLSearchParams('sourceId=shop'))).toBeUndefined()
})

test('events that are under way are replaced by what is known of them now, the others stay', () => {
  const found = [
    event('m1', 'waiting'),
    event('m2', 'delivered'),
    event('m1', 'waiting', { sourceId: 'blog' }),
  ]
  expect(found.map(isOpen)).toEqual([true, false, true])
  const now = refreshed(found, [event('m1', 'delivered')])
  expect(now.map(isOpen)).toEqual([false, false, true])
})
