import { expect, test } from 'vitest'
import { shownBody, shownEvent } from '../../../control/activity/records/shown-body.ts'
import { aDestination } from '../../helpers/events.ts'

const shape = {
  api_key: 'the-api-key',
  in: [{ deep: 'the-api-key' }, '{{userId}}'],
  mixed: 'Bearer {{userId}}',
  literal: '{{"the-api-key"}}',
  fallback: '{{properties.x | default: "the-api-key"}}',
  user: '{{userId}}',
  total: '{{ properties.total | default: 0 }}',
  count: 3,
}
const sent = {
  api_key: 'the-api-key',
  in: [{ deep: 'the-api-key' }, 'u1'],
  mixed: 'Bearer u1',
  literal: 'the-api-key',
  fallback: 'the-api-key',
  user: 'u1',
  total: { amount: 'ten' },
  count: 3,
}
const destination = aDestination({ rules: { shape } })
const delivery = (body: unknown, more = {}) => ({
  body: JSON.stringify(body),
  type: 'track',
  deadReason: null,
  ...more,
})
const seen = (body: unknown, more = {}) => JSON.parse(shownBody(delivery(body, more), destination, 'view'))

test('the view token sees values of the event, but no text of a shape', () => {
  expect(seen(sent)).toEqual({
    api_key: '***',
    in: [{ deep: '***' }, 'u1'],
    mixed: '***',
    literal: '***',
    fallback: '***',
    user: 'u1',
    total: { amount: 'ten' },
    count: 3,
  })
})

test('where a body does not fit the shape, all of its texts are masked', () => {
  expect(seen({ old_key: 'the-api-key', in: ['the-api-key'], count: ['the-api-key'], user: 'u1' })).toEqual({
    old_key: '***',
    in: ['***'],
    count: ['***'],
    user: 'u1',
  })
  expect(shownBody({ ...delivery(''), body: 'no JSON' }, destination, 'view')).toBe('***')
})

test('the admin token sees every body, and bodies without a shape stay as they are', () => {
  const { body } = delivery(sent)
  expect(shownBody(delivery(sent), destination, 'admin')).toBe(body)
  expect(shownBody(delivery(sent), aDestination({}), 'view')).toBe(body)
  expect(shownBody(delivery(sent), undefined, 'view')).toBe(body)
  expect(seen(sent, { type: 'delete' })).toEqual(sent)
  expect(seen(sent, { deadReason: 'rules_failed' })).toEqual(sent)
})

test.each([
  [{ event: '{{event}}' }, 'the-api-key'],
  [{ event: '{{event | default: "the-api-key"}}' }, '***'],
  [{ event: 'the-api-key' }, '***'],
  // the name is from an earlier shape, or from one that writes what Sluice does
  [{ user: '{{userId}}' }, '***'],
  [
    { version: 1, type: 'screen', name: 'the-api-key', timestamp: '{{timestamp}}', context: '{{context}}' },
    '***',
  ],
  [['{{event}}'], '***'],
  [undefined, 'the-api-key'],
])('with the shape %j, the view token sees the name of an event as %s', (shape, shown) => {
  const destination = aDestination({ rules: shape && { shape } })
  expect(shownEvent('the-api-key', destination, 'view')).toBe(shown)
  expect(shownEvent('the-api-key', destination, 'admin')).toBe('the-api-key')
  expect(shownEvent(null, destination, 'view')).toBe(null)
})
