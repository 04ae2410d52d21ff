import { describe, expect, test } from 'vitest'
import { createIndex } from '../../../settings/lookup.ts'
import { CALL_TYPES } from '../../../settings/settings.ts'
import { suppressionId } from '../../../settings/suppression-list.ts'
import { fakeIngest, post } from '../fake.ts'
import { metricLines } from '../metric-lines.ts'

function ingestOf(...list: { sourceId: string; userId: string }[]) {
  const index = createIndex()
  list.forEach((one, at) => {
    const value = { ...one, id: `s${at}`, version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
    index.set(`suppression/s${at}`, { kind: 'suppression', value })
  })
  return { index, ingest: fakeIngest({ suppressedUsers: index.suppressedUsers }) }
}

const jane = { sourceId: 'shop', userId: 'jane' }
const complete = { event: 'Bought', groupId: 'g', previousId: 'p' }

describe('a call of a suppressed user', () => {
  test.each(CALL_TYPES)('of type %s is answered with success and not stored', async (type) => {
    const { ingest } = ingestOf(jane)
    const answer = await post(ingest, `/v1/${type}`, { ...complete, userId: 'jane', anonymousId: 'a' })
    expect([answer.statusCode, answer.body]).toEqual([200, '{"success":true}'])
    expect(ingest.produced).toEqual([])
    expect(await metricLines(ingest, 'sluice_ingest_calls')).toEqual([
      `sluice_ingest_calls_suppressed_total{source="shop",type="${type}"} 1`,
    ])
  })

  test.each<[string, string, object]>([
    ['that is not valid is not kept among the rejected ones', '/v1/track', { userId: 'jane' }],
    ['whose type nobody knows, too', '/v1/batch', { batch: [{ type: 'x', userId: 'jane' }] }],
    ['that is too large, too', '/v1/batch', { batch: [{ userId: 'jane', a: 'x'.repeat(33_000) }] }],
    ['that aliases from that user', '/v1/alias', { userId: 'new', previousId: 'jane' }],
    ['that aliases in a batch', '/v1/b', { batch: [{ type: 'alias', userId: 'new', previousId: 'jane' }] }],
    ['that aliases from that user to nobody', '/v1/alias', { previousId: 'jane' }],
  ])('%s', async (_what, path, body) => {
    const { ingest } = ingestOf(jane)
    const answer = await post(ingest, path, body)
    expect([answer.statusCode, answer.body, ingest.produced]).toEqual([200, '{"success":true}', []])
  })

  test('with a numeric id is matched by its digits', async () => {
    const { ingest } = ingestOf({ sourceId: '*', userId: '42' })
    expect((await post(ingest, '/v1/track', { ...complete, userId: 42 })).statusCode).toBe(200)
    expect(ingest.produced).toEqual([])
  })

  test('is not stored with a refused batch either', async () => {
    const { ingest } = ingestOf(jane)
    const batch = Array(2_501).fill({ type: 'identify', userId: 'jane' })
    expect((await post(ingest, '/v1/batch', { batch })).statusCode).toBe(413)
    expect(ingest.produced).toEqual([])
  })

  test('does not affect the other calls of its batch', async () => {
    const { ingest } = ingestOf(jane)
    const batch = ['ann', 'jane', 'bob', 'jane'].map((userId) => ({ type: 'identify', userId }))
    const answer = await post(ingest, '/v1/batch', {
      batch: [...batch, { type: 'track', userId: 'jane' }, 5],
    })
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toMatchObject({ success: true, rejected: [{ index: 5, code: 'call_not_object' }] })
    expect(ingest.events().map(({ userId }) => userId)).toEqual(['ann', 'bob'])
    expect(ingest.rejected()).toHaveLength(1)
    expect(await metricLines(ingest, 'sluice_ingest_calls')).toEqual([
      'sluice_ingest_calls_accepted_total{source="shop",type="identify"} 2',
      'sluice_ingest_calls_rejected_total{source="shop",type="unknown",code="call_not_object"} 1',
      'sluice_ingest_calls_suppressed_total{source="shop",type="identify"} 2',
      'sluice_ingest_calls_suppressed_total{source="shop",type="track"} 1',
    ])
  })
})

describe('no call is dropped', () => {
  test.each<[string, string, object]>([
    ['of a user with another id', '/v1/track', { ...complete, userId: 'Jane' }],
    ['without userId', '/v1/track', { ...complete, anonymousId: 'jane' }],
    ['of a group that has the id', '/v1/group', { userId: 'ann', groupId: 'jane' }],
    [
      'of another user that has a previousId and is no alias',
      '/v1/track',
      { ...complete, userId: 'ann', previousId: 'jane' },
    ],
    ['that aliases to somebody else', '/v1/alias', { userId: 'ann', previousId: 'bob' }],
  ])('%s', async (_what, path, body) => {
    const { ingest } = ingestOf(jane)
    expect((await post(ingest, path, body)).statusCode).toBe(200)
    expect(ingest.events()).toHaveLength(1)
  })

  test('from another source', async () => {
    const { ingest } = ingestOf({ ...jane, sourceId: 'blog' })
    await post(ingest, '/v1/track', { ...complete, userId: 'jane' })
    expect(ingest.events()).toHaveLength(1)
  })
})

describe('the list', () => {
  const sends = (list: ReturnType<typeof createIndex>, sourceId: string) =>
    ['ann', 'jane'].filter((userId) => list.suppressedUsers(sourceId)?.has(userId))

  test('of a source combines its own users and those for all sources', () => {
    const { index } = ingestOf(jane, { sourceId: '*', userId: 'ann' }, { sourceId: '*', userId: 'jane' })
    expect([sends(index, 'shop'), sends(index, 'blog')]).toEqual([
      ['ann', 'jane'],
      ['ann', 'jane'],
    ])
    index.set('suppression/s2', undefined)
    expect([sends(index, 'shop'), sends(index, 'blog')]).toEqual([['ann', 'jane'], ['ann']])
    index.set('suppression/s0', undefined)
    index.set('suppression/s0', undefined)
    expect([sends(index, 'shop'), sends(index, 'blog')]).toEqual([['ann'], ['ann']])
  })

  test('includes a user whose record is unreadable, as its key names the user', () => {
    const { index } = ingestOf({ sourceId: 'shop', userId: 'ann' })
    const key = `suppression/${suppressionId(jane)}`
    index.setUnread(key, undefined)
    expect([sends(index, 'shop'), sends(index, 'blog')]).toEqual([['ann', 'jane'], []])
    index.set(key, undefined)
    expect(sends(index, 'shop')).toEqual(['ann'])
    index.setUnread(`suppression/${suppressionId({ sourceId: '*', userId: 'jane' })}`, undefined)
    expect([sends(index, 'shop'), sends(index, 'blog')]).toEqual([['ann', 'jane'], ['jane']])
  })

  test('is absent when it is empty', () => {
    const { index } = ingestOf(jane)
    expect(index.suppressedUsers('blog')).toBeUndefined()
    index.set('suppression/s0', undefined)
    expect(index.suppressedUsers('shop')).toBeUndefined()
    expect(index.suppressions.size).toBe(0)
  })
})
