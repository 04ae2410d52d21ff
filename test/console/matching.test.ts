import { expect, test } from 'vitest'
import { mayReload } from '../../console/src/reload.ts'
import { changedNames } from '../../console/src/ui/form/changed-fields.ts'
import { matching } from '../../console/src/ui/layout/list-filter.ts'
import { perSecondOf, spanOf } from '../../console/src/views/replays/requests.ts'
import { typedTime } from '../../console/src/wording/format.ts'

test('a list is filtered by words, in whatever case and order', () => {
  const names = ['Shop of Anna', 'iOS app', 'Blog']
  expect(matching(names, ' anna SHOP ', String)).toEqual(['Shop of Anna'])
  expect(matching(names, 'anna blog', String)).toEqual([])
  expect(matching(names, ' ', String)).toBe(names)
})

test('what somebody else has changed is named as the form has it, once each', () => {
  const before = { version: 1, updatedAt: 'a', name: 'CRM', webhooks: [{ url: 'a' }], sharedSecret: '***' }
  const after = {
    ...before,
    ...{ version: 2, updatedAt: 'b', webhooks: [{ url: 'b' }] },
    ...{ previousSecret: '***', previousSecretExpiresAt: 'c' },
  }
  expect(changedNames(before, after)).toEqual(['URLs and headers', 'secret'])
  expect(changedNames(before, { ...before, version: 3 })).toEqual([])
})

test('how many a second is a number that the API takes, or none', () => {
  expect(['1', '0.5', '0', '', ' ', '10000', '10001', 'x'].map(perSecondOf)).toEqual([
    1,
    ...[undefined, undefined, undefined, undefined],
    10_000,
    ...[undefined, undefined],
  ])
})

test('a span is the last hours, or what was typed, up to now where no end was', () => {
  const now = Date.parse('2026-01-02T12:00:00.000Z')
  const none = { from: '', to: '' }
  expect(spanOf('24', none, now)).toEqual({
    from: '2026-01-01T12:00:00.000Z',
    to: '2026-01-02T12:00:00.000Z',
  })
  const from = typedTime('2026-01-02T09:00:00.000Z')
  expect(spanOf('own', { from, to: '' }, now)).toEqual({
    from: '2026-01-02T09:00:00.000Z',
    to: '2026-01-02T12:00:00.000Z',
  })
  expect(spanOf('own', none, now)).toBeUndefined()
  expect(spanOf('own', { from, to: from }, now)).toBeUndefined()
})

test('a page is loaded anew by itself once a minute at most', () => {
  expect([mayReload(0, 100_000), mayReload(50_000, 100_000)]).toEqual([true, false])
})
