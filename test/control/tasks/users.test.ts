import { expect, test } from 'vitest'
import { suppressionId } from '../../../settings/suppression-list.ts'
import { api, VIEW } from '../api.ts'
import { crm, now, shop } from '../in-memory.ts'

const of = (sourceId: string, userId: string) => {
  const suppression = { sourceId, userId }
  return { ...suppression, id: suppressionId(suppression), version: 1, updatedAt: now }
}

test('a user is shown with suppressions and unfinished deletions, to a view token too', async () => {
  const suppressions = [of('*', 'u1'), of('shop', 'u1'), of('shop', 'u2')]
  const { ask } = api({ sources: [shop], destinations: [crm], suppressions })
  await ask({ method: 'POST', url: '/api/deletions', body: { id: 'd1', userIds: ['u0', 'u1'] } })
  await ask({ method: 'POST', url: '/api/deletions', body: { id: 'd2', userIds: ['u2'] } })
  const { status, json, text } = await ask({ url: '/api/users?userId=u1', token: VIEW })
  expect(status).toBe(200)
  expect(json).toEqual({
    userId: 'u1',
    suppressions: suppressions.slice(0, 2),
    deletions: [expect.objectContaining({ id: 'd1', state: 'accepted', users: 2 })],
  })
  expect(text).not.toContain('u0')
})

test('an unknown user has neither, and the search is audited without the id', async () => {
  const { ask, lines } = api({ sources: [shop] })
  const { json } = await ask({ url: '/api/users?userId=jane%40example.com' })
  expect(json).toEqual({ userId: 'jane@example.com', suppressions: [], deletions: [] })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ audit: true, what: 'search', who: 'admin' }])
  expect(lines.join()).not.toContain('jane')
})

test('without a user id, or with an empty one, the request is refused', async () => {
  const { ask } = api()
  for (const query of ['', '?userId=']) expect((await ask({ url: `/api/users${query}` })).status).toBe(400)
})
