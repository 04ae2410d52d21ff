import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ALL } from '../../../../control/activity/live/channel.ts'
import type { Feed } from '../../../../control/activity/live/feed.ts'
import { createLive, type LiveParts } from '../../../../control/activity/live/live.ts'
import { ADMIN, api, VIEW } from '../../api.ts'
import { shop } from '../../in-memory.ts'
import { head, listen } from '../../wire.ts'

function live(parts: Partial<LiveParts> = {}) {
  const joined: string[] = []
  const warned: unknown[] = []
  let opened = 0
  let closed = 0
  const feed: Feed = {
    caughtUp: Promise.resolve(),
    join(sourceId, watcher) {
      joined.push(sourceId)
      watcher.send('event: ready\ndata: {"calls":0}\n\n')
    },
    leave: (sourceId) => void joined.splice(joined.indexOf(sourceId), 1),
    close: async () => {
      closed += 1
    },
  }
  const made = createLive({
    openFeed: async () => {
      opened += 1
      return feed
    },
    onSkipped: () => {},
    log: { warn: (...said: unknown[]) => warned.push(said) } as unknown as LiveParts['log'],
    lingerMs: 0,
    ...parts,
  })
  onTestFinished(() => {
    made.end()
    return made.close()
  })
  return { ...made, joined, warned, opened: () => opened, closed: () => closed }
}

const url = '/api/sources/shop/live'

describe('the route', () => {
  test('of an unknown source: 404; with a parameter: 400; with another method: 405', async () => {
    const { ask } = api({ sources: [shop] })
    expect(await ask({ url: '/api/sources/gone/live' })).toMatchObject({
      status: 404,
      json: { code: 'not_found', message: 'There is no source gone' },
    })
    expect(await ask({ url: `${url}?limit=1` })).toMatchObject({ status: 400 })
    expect(await ask({ url, method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } })
    expect(await ask({ url, token: '' })).toMatchObject({ status: 401 })
  })

  test('of all sources needs no source', async () => {
    const { joined, end, ...made } = live()
    const { ask } = api({}, { live: { ...made, end } })
    expect(await ask({ url: '/api/live', method: 'HEAD' })).toMatchObject({ status: 200 })
    const asking = ask({ url: '/api/live', token: VIEW })
    await expect.poll(() => joined).toEqual([ALL])
    end()
    expect(await asking).toMatchObject({ status: 200 })
  })

  test('answers a HEAD request without a stream', async () => {
    const { ask } = api({ sources: [shop] })
    expect(await ask({ url, method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    })
  })

  test('streams messages until its end, for a view token too', async () => {
    const { joined, end, ...made } = live()
    const { ask } = api({ sources: [shop] }, { live: { ...made, end } })
    const asking = ask({ url, token: VIEW })
    await expect.poll(() => joined).toEqual(['shop'])
    end()
    expect(await asking).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'no-store', connection: 'close' },
      text: 'retry: 2000\n\nevent: ready\ndata: {"calls":0}\n\n',
    })
  })

  test('ends with the process', async () => {
    const { joined, ...made } = live()
    const { ask, close } = api({ sources: [shop] }, { live: made })
    const asking = ask({ url })
    await expect.poll(() => joined).toEqual(['shop'])
    await close()
    expect(await asking).toMatchObject({ status: 200 })
    expect(made.watch('shop')).toBe('too_many')
  })

  test('frees the places of a closed connection, also those whose answers waited behind an endless one', async () => {
    const { end, ...made } = live()
    const { app } = api({}, { live: { ...made, end } })
    const open = await listen(app)
    const one = head('GET /api/live HTTP/1.1', { Authorization: `Bearer ${VIEW}` })
    const socket = open(one.repeat(4))
    await expect.poll(made.watchers).toBe(4)
    socket.destroy()
    await expect.poll(made.watchers).toBe(0)
  })

  test('reserves five places for administrators', async () => {
    const { watch, ...made } = live()
    const { ask } = api({ sources: [shop] }, { live: { ...made, watch } })
    for (let count = 0; count < 15; count++) watch('shop')
    expect(await ask({ url, token: VIEW })).toMatchObject({
      status: 429,
      json: { code: 'too_many_watchers' },
    })
    const asking = ask({ url, token: ADMIN })
    await expect.poll(made.watchers).toBe(16)
    made.end()
    expect(await asking).toMatchObject({ status: 200 })
  })

  test('has room for twenty', async () => {
    const { watch, ...made } = live()
    const streams = Array.from({ length: 20 }, () => watch('shop'))
    const { ask } = api({ sources: [shop] }, { live: { ...made, watch } })
    expect(await ask({ url })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '10' },
      json: { code: 'too_many_watchers' },
    })
    const [first] = streams
    if (!first || first === 'too_many') throw new Error('there was no room')
    first.destroy()
    await once(first, 'close')
    expect(watch('shop')).not.toBe('too_many')
    expect(made.watchers()).toBe(20)
  })
})

describe('the feed', () => {
  test('is opened once for all watchers, and closed after the last', async () => {
    const { watch, joined, opened, closed } = live()
    const streams = [watch('shop'), watch('blog')]
    await expect.poll(() => joined).toEqual(['shop', 'blog'])
    for (const stream of streams) if (stream !== 'too_many') stream.destroy()
    await expect.poll(closed).toBe(1)
    expect([opened(), joined]).toEqual([1, []])
  })

  test('shows nothing to a watcher that left before it was open', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const joins: string[] = []
    let closed = 0
    const openFeed = async (): Promise<Feed> => ({
      caughtUp: promise,
      join: (sourceId) => void joins.push(sourceId),
      leave: () => {},
      close: async () => {
        closed += 1
      },
    })
    const { watch } = live({ openFeed })
    const stream = watch('shop')
    if (stream === 'too_many') throw new Error('there was no room')
    stream.destroy()
    await once(stream, 'close')
    resolve()
    await expect.poll(() => closed).toBe(1)
    expect(joins).toEqual([])
  })

  test('that cannot be opened or stops disconnects its watchers; the next ones open it again', async () => {
    let fatal: (error: Error) => void = () => {}
    let fails = true
    let opened = 0
    const openFeed: LiveParts['openFeed'] = async (onFatal) => {
      opened += 1
      fatal = onFatal
      if (fails) throw new Error('no broker')
      return { caughtUp: Promise.resolve(), join: () => {}, leave: () => {}, close: async () => {} }
    }
    const { watch, watchers, warned } = live({ openFeed })
    const stream = watch('shop')
    if (stream === 'too_many') throw new Error('there was no room')
    stream.resume()
    await once(stream, 'close')
    fails = false
    const next = watch('shop')
    if (next === 'too_many') throw new Error('there was no room')
    next.resume()
    await expect.poll(() => opened).toBe(2)
    fatal(new Error('stopped'))
    await once(next, 'close')
    expect([watchers(), warned.length]).toEqual([0, 2])
  })

  test('that is still being opened at the end is not waited for', async () => {
    const { watch, end, close } = live({ openFeed: () => new Promise(() => {}), closeMs: 1 })
    watch('shop')
    end()
    await close()
  })
})
