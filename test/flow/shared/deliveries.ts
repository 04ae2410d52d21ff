import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deliveryId } from '../../../delivery/routing/routing.ts'
import { type Receiver, startReceiver } from '../../helpers/receiver.ts'
import { until } from '../../helpers/until.ts'
import { delivererFollows, sluice } from './system.ts'

type Item = {
  id: string
  messageId: string
  event: string | null
  user: string | null
  state: string
  replay: boolean
  lastStatus: number | null
}
type Page = { items: Item[]; next: string | null; searchedSince: string | null; unknown: number }

const track = (messageId: string, userId: string, event: string) => ({
  type: 'track',
  messageId,
  userId,
  event,
})

async function page(query: string): Promise<Page> {
  const { status, body } = await sluice.api('get', `deliveries?${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body as Page
}

async function all(query: string): Promise<Item[]> {
  const items: Item[] = []
  for (let next: string | null = ''; next !== null; ) {
    const found: Page = await page(`${query}${next && `&cursor=${next}`}`)
    items.push(...found.items)
    next = found.next
  }
  return items
}

const idsOf = (items: readonly Item[]) => items.map(({ messageId }) => messageId).toSorted()

async function ended(id: unknown): Promise<Record<string, unknown>> {
  return until(async () => {
    const { body } = await sluice.api('get', `replays/${id}`)
    return body.state !== 'running' && body
  })
}

describe('the deliveries of a destination', () => {
  const of = 'destinationId=listed'
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterAll(() => receiver?.close())

  test('are listed newest first, and found by state, status, event, user and time', async () => {
    await sluice.api('post', 'sources', { id: 'listed', name: 'Listed', writeKey: 'listed-write-key' })
    const source = { sourceIds: ['listed'] }
    await sluice.destination('listed', [`${receiver.url}/ok`], source)
    await sluice.destination('listed-wrong', [`${receiver.url}/status/404`], source)
    const calls = [
      track('listed-1', 'u1', 'Signed Up'),
      track('listed-2', 'u/2', 'Paid'),
      { type: 'page', messageId: 'listed-3', userId: 'u1', name: 'Home' },
    ]
    // one after the other, so that the order is known
    for (const call of calls) {
      await sluice.send([call], 'listed-write-key')
      await until(async () => (await all(`${of}&messageId=${call.messageId}&state=delivered`)).length === 1)
    }
    const listed = await all(of)
    expect(listed).toMatchObject([
      { messageId: 'listed-3', event: 'Home', user: 'u1', state: 'delivered', lastStatus: 200 },
      { messageId: 'listed-2', event: 'Paid', user: 'u/2', replay: false },
      { messageId: 'listed-1', event: 'Signed Up' },
    ])
    expect(await all(`${of}&limit=1`)).toEqual(listed)
    expect(idsOf(await all(`${of}&event=Signed%20Up`))).toEqual(['listed-1'])
    expect(idsOf(await all(`${of}&user=u1`))).toEqual(['listed-1', 'listed-3'])
    expect(idsOf(await all(`user=u%2F2&sourceId=listed`))).toEqual(['listed-2', 'listed-2'])
    expect(await all(`${of}&state=rejected`)).toEqual([])
    expect(await all(`${of}&until=2020-01-01T00:00:00Z`)).toEqual([])
    const wrong = 'destinationId=listed-wrong'
    await until(async () => (await all(`${wrong}&state=rejected`)).length === 3)
    expect(idsOf(await all(`${wrong}&status=404&event=Paid`))).toEqual(['listed-2'])
    expect(await all(`${wrong}&status=5xx`)).toEqual([])
  })

  test('are shown one by one, with request and attempts', async () => {
    const [item] = await all(`${of}&messageId=listed-2`)
    const { status, body } = await sluice.api('get', `deliveries/${item?.id}`)
    expect([status, body]).toMatchObject([
      200,
      {
        deliveryId: deliveryId('listed', { sourceId: 'listed', messageId: 'listed-2' }),
        attempts: [{ outcome: 'delivered', status: 200 }],
        requests: [{ urlIndex: 0, headers: { 'Content-Type': 'application/json' } }],
        body: expect.stringContaining('"event":"Paid"'),
        nextAttemptAt: null,
      },
    ])
    expect((await sluice.api('get', 'deliveries/d0-99999999')).status).toBe(404)
  })

  test('are sent again one by one, and so are replays of them', async () => {
    const resend = async (item: Item | undefined) => {
      const answer = await sluice.api('post', 'replays', {
        destinationId: 'listed',
        what: 'deliveries',
        entries: [item?.id],
      })
      expect(answer).toMatchObject({ status: 202, body: { selected: 1 } })
      expect(await ended(answer.body.id)).toMatchObject({ state: 'done', replayed: 1 })
    }
    const query = `${of}&messageId=listed-1`
    const replays = async () =>
      (await all(query)).filter(({ replay, state }) => replay && state === 'delivered')
    await resend((await all(query))[0])
    const [first] = await until(async () => {
      const found = await replays()
      return found.length === 1 && found
    })
    expect(first?.id).toMatch(/^r/)
    await resend(first)
    await until(async () => (await replays()).length === 2)
  })

  test('that died are replayed once, unless they die again', async () => {
    const left = async () => {
      const { body } = await sluice.api('get', 'dead?destinationId=listed-wrong&replayed=false')
      return body as unknown as { matching: unknown[]; items: { event: string | null; user: string }[] }
    }
    // dead letters are read separately from attempts
    await until(async () => (await left()).items.length === 3)
    expect((await left()).matching).toEqual([{ destinationId: 'listed-wrong', count: 3 }])
    const replay = async (more: object) => {
      const { body } = await sluice.api('post', 'replays', {
        destinationId: 'listed-wrong',
        skipReplayed: true,
        ...more,
      })
      return ended(body.id)
    }
    const { body } = await sluice.api('get', 'destinations/listed-wrong')
    const { id: _, version, updatedAt: __, ...settings } = body
    const put = await sluice.api(
      'put',
      'destinations/listed-wrong',
      { ...settings, webhooks: [{ url: `${receiver.url}/corrected` }] },
      { 'if-match': String(version) },
    )
    expect(put.status).toBe(200)
    await delivererFollows()
    expect(await replay({ event: 'Paid', status: '4xx' })).toMatchObject({ state: 'done', replayed: 1 })
    expect((await left()).matching).toEqual([{ destinationId: 'listed-wrong', count: 2 }])
    expect((await left()).items.map(({ user }) => user)).toEqual(['u1', 'u1'])
    expect(await replay({})).toMatchObject({ state: 'done', replayed: 2 })
    expect((await left()).matching).toEqual([])
    expect(await replay({})).toMatchObject({ state: 'done', replayed: 0 })
    await until(() => receiver.arrivals.filter(({ path }) => path === '/corrected').length === 3)
  })
})
