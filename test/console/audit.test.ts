import { expect, test } from 'vitest'
import { changeLines, detailLines, whatLabel } from '../../console/src/views/audit/entry.ts'

test('each change is one line', () => {
  const changes = {
    '/name': { from: 'CRM', to: 'CRM 2' },
    '/sourceIds': { to: ['shop'] },
    '/rateLimit/burst': { from: 5 },
    '/webhooks/0/headers/a~1b~0': 'changed',
  }
  expect(changeLines({ changes })).toEqual([
    'name: "CRM" → "CRM 2"',
    'sourceIds: ["shop"]',
    'rateLimit burst: removed, was 5',
    'webhooks 0 headers a/b~: changed',
  ])
})

test('details and kinds of a later version are shown as they are', () => {
  expect(detailLines({ details: { users: 2, reason: 'rejected' } })).toEqual(['users: 2', 'reason: rejected'])
  expect([whatLabel('source'), whatLabel('notice')]).toEqual(['Source', 'notice'])
})
