import { describe, expect, test } from 'vitest'
import { api, VIEW } from './api.ts'
import { crm } from './in-memory.ts'

const url = '/api/replays'
const post = (body: unknown) => ({ method: 'POST', url, body })
const wanted = { id: 'r1', destinationId: 'crm' }

describe('a replay', () => {
  test('is taken, told of, listed, and cancelled once', async () => {
    const { ask } = api({ destinations: [crm] })
    const { status, json } = await ask(post(wanted))
    expect([status, json]).toMatchObject([
      202,
      { id: 'r1', state: 'running', total: 20, read: 0, what: 'dead' },
    ])
    expect(await ask({ url: `${url}/r1`, token: VIEW })).toMatchObject({ status: 200, json })
    expect((await ask({ url })).json).toEqual({ items: [json], next: null })
    const cancel = { method: 'DELETE', url: `${url}/r1` }
    expect(await ask(cancel)).toMatchObject({ status: 200, json: { state: 'cancelled' } })
    expect(await ask(cancel)).toMatchObject({ status: 409, json: { code: 'replay_ended' } })
  })

  test.each<[string, object, string]>([
    ['an unknown destination', { destinationId: 'nope' }, '/destinationId unknown_destination'],
    [
      'an end before its beginning',
      { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' },
      '/from invalid_value',
    ],
    ['a reason that no delivery dies of', { reason: 'window_expird' }, '/reason invalid_value'],
    ['a time before all events', { to: '0020-01-01T00:00:00Z' }, '/from invalid_value'],
  ])('of %s is refused', async (_, more, expected) => {
    const { status, json } = await api({ destinations: [crm] }).ask(post({ ...wanted, ...more }))
    const faults = json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`)
    expect([status, faults]).toEqual([400, [expected]])
  })

  test('from before 1970 begins with 1970: below zero a time is no time to Kafka', async () => {
    const asked: number[] = []
    const rangesOf = async ({ from }: { from: number }) => {
      asked.push(from)
      return []
    }
    const { ask } = api({ destinations: [crm] }, { rangesOf })
    const { status, json } = await ask(post({ ...wanted, from: '0020-02-29T00:00:00Z' }))
    expect([status, json.from, asked]).toEqual([202, '1970-01-01T00:00:00.000Z', [0]])
  })
})
