import { describe, expect, test } from 'vitest'
import type { Settlement } from '../../deliverer/decide.ts'
import type { Lane, Pressure } from '../../deliverer/lane/lane.ts'
import type { Job, Refusal } from '../../deliverer/lane/state.ts'
import { createDeliverer } from '../../deliverer/run.ts'
import type { Ended } from '../../delivery/breaker.ts'
import type { Outcome } from '../../delivery/outcome.ts'
import type { Listener } from '../../delivery/post/exchange.ts'
import { targetsOf } from '../../delivery/targets.ts'
import { createWebhooks } from '../../delivery/webhooks.ts'
import type { ConsumerRecord } from '../../kafka/consume/record.ts'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Destination } from '../../settings/settings.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'
import { until } from '../helpers/until.ts'

const delivered: Outcome = { outcome: 'delivered', status: 200 }
const failed: Outcome = { outcome: 'retry', code: 'http_5xx', status: 503 }
const refused: Outcome = { outcome: 'refused', code: 'tls_expired' }
const open: Refusal = { code: 'breaker_open', waitMs: 0 }
const full: Refusal = { code: 'queue_full', waitMs: 0 }
const [one, two] = ['http://one.example', 'http://two.example']
/** The second webhook's first POST. */
const failedBefore = (code: string) => ({
  attempt: 1,
  urlIndex: 1,
  startedAt: 0,
  durationMs: 1,
  outcome: 'retry' as const,
  status: code === 'http_5xx' ? 503 : null,
  code,
})
const both = aDestination({ webhooks: [one, two].map((url) => ({ url: `${url}/`, headers: {} })) })

/** The test decides what the lane does, and when POSTs end. */
function aWorld(first = both) {
  let destination: Destination | undefined = first
  let unreadable = false
  let owned = true
  let full = false
  let pressure: Pressure | undefined
  const refusals = new Map<string, Refusal>()
  const kept: Job[] = []
  const posts = new Map<string, Listener>()
  const requests: Record<string, string>[] = []
  const written: OutRecord[] = []
  const logged: string[] = []
  const settling: number[] = []
  const fates: string[] = []
  const results: Settlement[] = []
  const faults: string[] = []
  let lookUps = 0
  const lane: Lane = {
    offer({ origin }, job) {
      const refusal = refusals.get(origin)
      if (!refusal) kept.push(job)
      return refusal
    },
    isFull: () => full,
    pressure: () => pressure,
    dropUnneeded: () => undefined,
    tick: () => undefined,
    count: () => ({ waiting: 0, prompt: 0, late: 0 }),
    waits: () => ({ answer: 0, cap: 0, host: 0, slot: 0 }),
  }
  const webhooks = createWebhooks()
  const handle = createDeliverer({
    settings: {
      destination: async () => {
        lookUps += 1
        await new Promise(setImmediate)
        return unreadable && !destination?.enabled ? 'unreadable' : destination
      },
      destinations: { get: () => destination },
      unreadable: { has: () => unreadable },
    },
    webhooks,
    now: () => 0,
    poster: {
      post(request, listener) {
        posts.set(new URL(request.url).origin, listener)
        requests.push(request.headers)
      },
    },
    producer: {
      produce: async (records) => {
        written.push(...records)
        return 'acked'
      },
      queuedBytes: () => 0,
    },
    attemptProducer: {
      produce: async (records) => {
        written.push(...records)
        return 'acked'
      },
      stalledMs: () => 0,
    },
    // topics are compared; bytes are the codec's affair
    deliveries: { encode: (delivery) => Buffer.from(JSON.stringify(delivery)) },
    attempts: { encode: (attempt) => Buffer.from(JSON.stringify(attempt)) },
    ladder: {
      ladder: [
        { name: '5s', delayMs: 5_000 },
        { name: '30s', delayMs: 30_000 },
      ],
      windowMs: 60_000,
    },
    onAttempt(_, { outcome, settles, urlIndex }) {
      logged.push('code' in outcome ? outcome.code : outcome.outcome)
      if (settles) settling.push(urlIndex)
    },
    onHeld: () => void logged.push('destination_paused'),
    onSettled: (result) => void results.push(result),
    onFatal: (error) => void faults.push(error.message),
  })(lane)
  const record: ConsumerRecord<Delivery> = {
    topic: 'deliveries',
    partition: 0,
    offset: 0,
    timestamp: 0,
    key: 'crm/u1',
    value: aDelivery(),
    settle: () => void fates.push('settled'),
    owned: () => owned,
    release: () => void fates.push('released'),
    park: () => void fates.push('parked'),
  }
  const heard: Ended[] = []
  const blamed: ('webhook' | 'host')[] = []
  const lease = {
    connected: () => undefined,
    ended(ended: Ended, ofWebhook: boolean) {
      heard.push(ended)
      blamed.push(ofWebhook ? 'webhook' : 'host')
    },
    release: () => undefined,
  }
  return {
    take: (value: Partial<Delivery> = {}) => handle({ ...record, value: aDelivery(value) }, {} as never),
    fill: () => {
      full = true
    },
    press: (by: Pressure) => {
      pressure = by
    },
    begin(count = kept.length) {
      for (const job of kept.splice(0, count))
        if (job.isNeeded()) job.begin(lease)
        else job.drop()
    },
    defer() {
      for (const job of kept.splice(0)) job.defer(open)
    },
    refuse: (origin: string, by = open) => void refusals.set(origin, by),
    answer(origin: string, outcome: Outcome, sent = true) {
      posts.get(origin)?.onOutcome(outcome, 1, sent)
      posts.get(origin)?.onEnd(null)
    },
    change: (to: Destination | undefined) => {
      destination = to
    },
    spoil: (isSpoiled = true) => {
      unreadable = isSpoiled
    },
    lose: () => {
      owned = false
    },
    posted: () => [...posts.keys()],
    headers: (name: string) => requests.map((headers) => headers[name]),
    written: () =>
      written.map(({ topic, value }) => [topic, JSON.parse(String(value))] as [string, Delivery]),
    logged,
    /** Webhooks whose POST was the first 2xx of its delivery. */
    settling,
    results,
    heard,
    /** Whose breaker each of them counts for, if it is a failure. */
    blamed,
    faults,
    /** How many waiting deliveries each webhook has counted. */
    behind: () => targetsOf(both).map((target) => webhooks.of(target, 0).behind),
    lookUps: () => lookUps,
    /** Waits, as deferred records are written a little later. */
    fates: async (count: number) => {
      await until(() => fates.length >= count, { message: () => `${count} records have met their fate` })
      return fates.join()
    },
    /** Once all pending work is done. */
    fate: async () => {
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
      return fates.join()
    },
  }
}

describe('a destination whose record is unreadable', () => {
  test('makes a delivery wait on a rung, neither cancelled nor posted, until it is readable', async () => {
    const world = aWorld()
    world.change(undefined)
    world.spoil()
    world.take()
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { attempt: 0, deferrals: 1 }]])
    expect([world.posted(), world.lookUps()]).toEqual([[], 0])
    world.spoil(false)
    world.change(both)
    world.take({ deferrals: 1 })
    world.begin()
    expect(world.posted()).toEqual([one, two])
  })

  test('uses its last readable settings, unless they are disabled', async () => {
    const world = aWorld()
    world.spoil()
    world.take()
    world.begin()
    expect(world.posted()).toEqual([one, two])
    world.change({ ...both, enabled: false })
    world.take()
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { attempt: 0 }]])
  })

  test('makes a delivery dead at the end of its window; one that a webhook has is done', async () => {
    const world = aWorld()
    world.change(undefined)
    world.spoil()
    world.take({ firstAttemptAt: Date.now() - 60_000, delivered: true })
    expect(await world.fates(1)).toBe('settled')
    world.take({ firstAttemptAt: Date.now() - 60_000 })
    expect(await world.fates(2)).toBe('settled,settled')
    expect(world.results.map(({ kind }) => kind)).toEqual(['done', 'dead'])
    expect(world.written()).toMatchObject([['deliveries.dead', { deadReason: 'window_expired' }]])
  })
})

describe('a paused destination', () => {
  const paused = { ...both, paused: true }

  test('has its deliveries held without an attempt, and gets them after it is resumed', async () => {
    const world = aWorld(paused)
    world.take()
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([
      ['deliveries.retry.5s', { attempt: 0, deferrals: 1, firstAttemptAt: null }],
    ])
    expect([world.posted(), world.logged]).toEqual([[], ['destination_paused']])
    world.change({ ...both, paused: false })
    world.take({ deferrals: 1 })
    world.begin()
    expect(world.posted()).toEqual([one, two])
  })

  test('gets no POST that was waiting for a slot', async () => {
    const world = aWorld()
    world.take()
    world.change(paused)
    world.begin()
    await until(async () => (await world.fate()) === 'settled')
    expect(world.posted()).toEqual([])
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { attempt: 0, deferrals: 1 }]])
  })

  test('gets the event later at a webhook that was waiting for a slot, although another has it', async () => {
    const world = aWorld()
    world.take()
    world.begin(1)
    world.change(paused)
    world.begin()
    world.answer(one, delivered)
    expect(await world.fates(1)).toBe('settled')
    expect([world.posted(), world.logged]).toEqual([[one], ['delivered']])
    expect(world.written()).toMatchObject([
      ['deliveries.retry.5s', { attempt: 0, deferrals: 1, delivered: true, refusedUrls: [`${one}/`] }],
    ])
    world.take(world.written()[0]?.[1])
    expect(await world.fates(2)).toBe('settled,settled')
    world.change(both)
    world.take(world.written()[1]?.[1])
    world.begin()
    expect(world.posted()).toEqual([one, two])
  })

  test('has deliveries held past their retry window, which moves by the time on hold', async () => {
    const world = aWorld(paused)
    const firstAttemptAt = Date.now() - 3_600_000
    world.take({ attempt: 1, deferrals: 1, firstAttemptAt })
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([
      ['deliveries.retry.30s', { attempt: 1, deferrals: 2, firstAttemptAt: firstAttemptAt + 30_000 }],
    ])
  })

  test('that is resumed but has no room counts each held delivery only once as waiting', async () => {
    const world = aWorld()
    for (const origin of [one, two]) world.refuse(origin, full)
    world.take({ deferrals: 50 })
    await world.fates(1)
    expect(world.behind()).toEqual([1, 1])
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { deferrals: 51 }]])
    world.take(world.written()[0]?.[1])
    await world.fates(2)
    expect(world.behind()).toEqual([1, 1])
  })

  test('has its deliveries read from Kafka even if a webhook is overloaded', () => {
    const world = aWorld(paused)
    world.press({ isFull: true, restMs: 1_000 })
    expect(world.take()).toBeUndefined()
  })

  test('has its deliveries cancelled if it is also disabled', async () => {
    const world = aWorld({ ...paused, enabled: false })
    world.take()
    await until(async () => (await world.fate()) === 'settled')
    expect(world.written()).toMatchObject([['attempts', { code: 'destination_disabled' }]])
  })
})

describe('an attempt', () => {
  test('posts to all webhooks at once, and one success settles it while another is in flight', async () => {
    const world = aWorld()
    world.take()
    world.begin()
    expect(world.posted()).toEqual([one, two])
    world.answer(two, delivered)
    expect(await world.fate()).toBe('settled')
    world.answer(one, failed)
    expect([await world.fate(), world.written(), world.logged]).toEqual([
      'settled',
      [],
      ['delivered', 'http_5xx'],
    ])
  })

  test('is marked if it is the first 2xx of its delivery, and no other is', async () => {
    const world = aWorld()
    world.take()
    world.begin()
    world.answer(two, delivered)
    world.answer(one, delivered)
    expect(world.settling).toEqual([1])
    world.take({ delivered: true })
    world.begin()
    world.answer(one, delivered)
    expect([world.logged, world.settling]).toEqual([Array(3).fill('delivered'), [1]])
  })

  test('waits for a webhook without a slot although another has succeeded: each webhook gets each event', async () => {
    const world = aWorld()
    world.take()
    world.begin(1)
    world.answer(one, delivered)
    expect(await world.fate()).toBe('')
    world.begin()
    expect(world.posted()).toEqual([one, two])
    expect(await world.fate()).toBe('settled')
  })

  test('is deferred only for the webhook whose queue is full, when another has succeeded', async () => {
    const world = aWorld()
    world.refuse(two, full)
    world.take()
    world.begin()
    world.answer(one, delivered)
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([
      ['deliveries.retry.5s', { attempt: 0, deferrals: 1, delivered: true, refusedUrls: [`${one}/`] }],
    ])
  })

  test.each([failed, delivered, refused])(
    'is final when another webhook has the event: %o',
    async (outcome) => {
      const world = aWorld()
      world.take({ delivered: true, refusedUrls: [`${one}/`] })
      world.begin()
      expect(world.posted()).toEqual([two])
      world.answer(two, outcome)
      expect([await world.fate(), world.written()]).toEqual(['settled', []])
    },
  )

  test.each(['aborted', 'EMFILE'])(
    'is deferred when another webhook has the event and the POST failed at our end: %s',
    async (code) => {
      const world = aWorld()
      world.take({ delivered: true, refusedUrls: [`${one}/`] })
      world.begin()
      world.answer(two, { outcome: 'retry', code })
      await world.fates(1)
      expect(world.written()).toMatchObject([['deliveries.retry.5s', { delivered: true, deferrals: 1 }]])
    },
  )

  test('ends at an open breaker when another webhook has the event, and is deferred at a full queue', async () => {
    for (const [refusal, written] of [
      [open, 0],
      [full, 1],
    ] as const) {
      const world = aWorld()
      world.refuse(two, refusal)
      world.take({ delivered: true, refusedUrls: [`${one}/`], deferrals: 1, firstAttemptAt: Date.now() })
      await world.fates(1)
      expect(world.written()).toHaveLength(written)
    }
  })

  test('writes a record for a webhook that still waits when another has succeeded and the partition is revoked', async () => {
    const world = aWorld()
    world.take()
    world.begin(1)
    world.lose()
    world.begin()
    world.answer(one, delivered)
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([
      ['deliveries.retry.5s', { attempt: 0, delivered: true, refusedUrls: [`${one}/`] }],
    ])
  })

  test('does not retry a failed webhook when another succeeds while its queue is full', async () => {
    const world = aWorld()
    world.refuse(two, full)
    world.take({ attempt: 1, firstAttemptAt: Date.now(), history: [failedBefore('http_5xx')] })
    world.begin()
    world.answer(one, delivered)
    expect([await world.fate(), world.written()]).toEqual(['settled', []])
  })

  test('posts later to a webhook whose queue is full and whose earlier POST failed at our end', async () => {
    const world = aWorld()
    world.refuse(two, full)
    world.take({ attempt: 1, firstAttemptAt: Date.now(), history: [failedBefore('EMFILE')] })
    world.begin()
    world.answer(one, delivered)
    await world.fates(1)
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { delivered: true, deferrals: 1 }]])
  })

  test('does not count as an attempt when one webhook rejects and the other has no room yet', async () => {
    const world = aWorld()
    world.refuse(two, full)
    world.take({ attempt: 2, firstAttemptAt: Date.now() })
    world.begin()
    world.answer(one, { outcome: 'rejected', status: 404, code: 'http_404' })
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([
      [
        'deliveries.retry.5s',
        { attempt: 2, deferrals: 1, refusedUrls: [`${one}/`], history: [{ attempt: 3, code: 'http_404' }] },
      ],
    ])
  })

  test('makes no dead letter when another webhook has the event and the window is over', async () => {
    const world = aWorld()
    world.refuse(two, full)
    world.take({
      delivered: true,
      refusedUrls: [`${one}/`],
      deferrals: 1,
      firstAttemptAt: Date.now() - 60_000,
    })
    expect([await world.fates(1), world.written()]).toEqual(['settled', []])
    expect(world.results).toMatchObject([{ kind: 'done', missed: [{ url: `${two}/` }] }])
  })

  test.each([undefined, { ...both, enabled: false }])(
    'is done, not cancelled, when another webhook has the event and the destination is deleted or disabled',
    async (changed) => {
      const world = aWorld()
      world.change(changed)
      world.take({ delivered: true, refusedUrls: [`${one}/`] })
      expect([await world.fates(1), world.written()]).toEqual(['settled', []])
      expect(world.results).toEqual([{ kind: 'done' }])
    },
  )

  test('posts later to the second of two webhooks with the same URL when the first has succeeded', async () => {
    const world = aWorld(
      aDestination({ webhooks: ['a', 'b'].map((of) => ({ url: `${one}/`, headers: { of } })) }),
    )
    const rest = { delivered: true, refusedUrls: [`${one}/`], refusedIndexes: [0] }
    world.take(rest)
    world.begin()
    expect(world.headers('of')).toEqual(['b'])
  })

  test('without success goes to a rung when all POSTs have ended, and is settled when that is written', async () => {
    const world = aWorld()
    world.take()
    world.begin()
    world.answer(one, failed)
    expect(await world.fate()).toBe('')
    world.answer(two, refused)
    expect(await world.fate()).toBe('settled')
    expect(world.written()).toMatchObject([
      ['deliveries.retry.5s', { attempt: 1, refusedUrls: [`${two}/`], deferrals: 0 }],
    ])
  })

  test('skips a webhook with an open breaker while another can be tried, and logs it', async () => {
    const world = aWorld()
    world.refuse(one)
    world.take()
    world.begin()
    expect(world.posted()).toEqual([two])
    world.answer(two, delivered)
    expect([await world.fate(), world.logged]).toEqual(['settled', ['breaker_open', 'delivered']])
  })

  test('with one webhook refused and the other deferred is deferred, not dead', async () => {
    const world = aWorld()
    world.refuse(one)
    world.take()
    world.begin()
    world.answer(two, refused)
    await world.fates(1)
    expect(world.written()).toMatchObject([
      ['deliveries.retry.5s', { attempt: 0, deferrals: 1, refusedUrls: [`${two}/`] }],
    ])
  })

  test('without a single POST is a deferral, not an attempt', async () => {
    const world = aWorld()
    world.refuse(one)
    world.refuse(two)
    world.take({ attempt: 3, deferrals: 1, firstAttemptAt: Date.now() })
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { attempt: 3, deferrals: 2 }]])
  })

  test('is deferred for the shortest wait of its webhooks', async () => {
    for (const waits of [
      [5_000, 30_000],
      [30_000, 5_000],
    ] as const) {
      const world = aWorld()
      for (const [index, origin] of [one, two].entries())
        world.refuse(origin, { code: 'breaker_open', waitMs: waits[index] ?? 0 })
      world.take({ deferrals: 1, firstAttemptAt: Date.now() })
      await world.fates(1)
      expect(world.written()).toMatchObject([['deliveries.retry.5s', { deferrals: 2 }]])
    }
  })

  test('is also deferred when breakers open while it waits', async () => {
    const world = aWorld()
    world.take()
    world.defer()
    expect(await world.fates(1)).toBe('settled')
    expect(world.written()).toMatchObject([['deliveries.retry.5s', { attempt: 0, deferrals: 1 }]])
  })

  test('is deferred in a batch with others, a retry at once', async () => {
    const world = aWorld()
    world.take()
    world.begin()
    world.refuse(one)
    world.refuse(two)
    world.take()
    world.take()
    world.answer(one, failed)
    world.answer(two, failed)
    expect(await world.fates(3)).toBe('settled,settled,settled')
    expect(world.written().map(([, { attempt, deferrals }]) => [attempt, deferrals])).toEqual([
      [1, 0],
      [0, 1],
      [0, 1],
    ])
  })
})

describe('settings that change while a delivery waits', () => {
  test('a corrected URL is used', async () => {
    const world = aWorld(aDestination({ webhooks: [{ url: `${one}/`, headers: {} }] }))
    world.take()
    world.change(aDestination({ webhooks: [{ url: `${two}/`, headers: {} }] }))
    world.begin()
    await world.fate()
    world.begin()
    expect(world.posted()).toEqual([two])
  })

  test.each([
    ['switched off', aDestination({ enabled: false }), 'destination_disabled'],
    ['deleted', undefined, 'destination_deleted'],
  ])('a destination that is %s gets nothing', async (_, after, code) => {
    const world = aWorld()
    world.take()
    world.change(after)
    world.begin()
    await until(async () => (await world.fate()) === 'settled')
    expect(world.posted()).toEqual([])
    expect(world.written()).toMatchObject([['attempts', { outcome: 'cancelled', code }]])
  })
})

test('a webhook without a POST is tried at the retry when the other one failed', async () => {
  const world = aWorld()
  world.take()
  world.begin(1)
  world.answer(one, failed)
  world.change(aDestination({ webhooks: [{ url: `${one}/`, headers: {} }] }))
  world.begin()
  expect(await world.fates(1)).toBe('settled')
  expect(world.written()).toMatchObject([['deliveries.retry.5s', { attempt: 1, refusedUrls: [] }]])
})

describe('a webhook without a POST while the other one refused for good', () => {
  test('is tried with the current settings, and the delivery is not dead', async () => {
    const world = aWorld()
    world.take()
    world.begin(1)
    world.answer(one, refused)
    const three = 'http://three.example'
    world.change(aDestination({ webhooks: [one, three].map((url) => ({ url: `${url}/`, headers: {} })) }))
    world.begin()
    await world.fate()
    world.begin()
    world.answer(three, delivered)
    expect([await world.fate(), world.written()]).toEqual(['settled', []])
  })

  test('is left to the next owner of the partition', async () => {
    const world = aWorld()
    world.take()
    world.begin(1)
    world.answer(one, refused)
    world.lose()
    world.begin()
    expect([await world.fate(), world.written()]).toEqual(['released', []])
  })
})

test('two webhooks with one URL each get their own headers', () => {
  const webhooks = ['a', 'b'].map((key) => ({ url: `${one}/`, headers: { 'X-Key': key } }))
  const world = aWorld(aDestination({ webhooks }))
  world.take()
  world.begin()
  expect(world.headers('X-Key')).toEqual(['a', 'b'])
})

test('deliveries waiting for the settings of one destination share a read, and do not hold up others', async () => {
  const world = aWorld(aDestination({ enabled: false }))
  for (let each = 0; each < 1_000; each++) expect(world.take()).toBeUndefined()
  expect(world.take()).toMatchObject({ holdUntil: expect.any(Number) })
  expect(world.lookUps()).toBe(1_000)
  world.change(both)
  expect(world.take({ destinationId: 'other' })).toBeUndefined()
  await world.fate()
  expect(world.take()).toBeUndefined()
})

describe('a lane that is full', () => {
  test('holds the partition, whatever the destination', () => {
    const world = aWorld()
    world.fill()
    expect(world.take()).toMatchObject({ holdUntil: expect.any(Number) })
  })

  test('for one origin accepts the current delivery, then pauses', () => {
    const world = aWorld()
    world.press({ restMs: 50, isFull: false })
    expect(world.take()).toMatchObject({ restUntil: expect.any(Number) })
    world.begin()
    expect(world.posted()).toEqual([one, two])
  })

  test('for each origin of a delivery holds it', () => {
    const world = aWorld()
    world.press({ restMs: 50, isFull: true })
    expect(world.take()).toMatchObject({ holdUntil: expect.any(Number) })
    world.begin()
    expect(world.posted()).toEqual([])
  })
})

test('deliveries not begun when their partition is revoked are released', async () => {
  const world = aWorld()
  world.take()
  world.lose()
  world.begin()
  expect([await world.fate(), world.posted()]).toEqual(['released', []])
})

test('a POST aborted at shutdown is released, as the next owner makes the same attempt', async () => {
  const aborted: Outcome = { outcome: 'retry', code: 'aborted' }
  const world = aWorld()
  world.take()
  world.begin()
  world.answer(one, failed)
  world.lose()
  world.answer(two, aborted)
  expect([await world.fate(), world.written()]).toEqual(['released', []])
})

test.each<[Outcome, Ended[]]>([
  [delivered, ['answered']],
  [refused, ['answered']],
  [failed, ['failed']],
  [{ outcome: 'retry', code: 'ECONNREFUSED' }, ['failed']],
  [{ outcome: 'retry', code: 'timeout' }, ['timed_out']],
  [{ outcome: 'retry', code: 'http_429', status: 429 }, ['answered']],
  [{ outcome: 'retry', code: 'protocol_error', status: 204 }, ['failed']],
  [{ outcome: 'retry', code: 'EMFILE' }, []],
])('%o is reported to the lane as %o', async (outcome, ended) => {
  const world = aWorld(aDestination({ webhooks: [{ url: `${one}/`, headers: {} }] }))
  world.take()
  world.begin()
  world.answer(one, outcome)
  await world.fate()
  expect(world.heard).toEqual(ended)
})

test.each<[string, 'webhook' | 'host', Outcome]>([
  ['ECONNREFUSED', 'host', { outcome: 'retry', code: 'ECONNREFUSED' }],
  ['timeout', 'host', { outcome: 'retry', code: 'timeout' }],
  // nothing is sent for a minute after too many TLS records, which other webhooks of the host did not send
  ['protocol_error', 'webhook', { outcome: 'retry', code: 'protocol_error' }],
])('without a request sent, %s counts for the %s', async (_, blamed, outcome) => {
  const world = aWorld(aDestination({ webhooks: [{ url: `${one}/`, headers: {} }] }))
  world.take()
  world.begin()
  world.answer(one, outcome, false)
  await world.fate()
  expect(world.blamed).toEqual([blamed])
})

test('deliveries of one destination keep their order while its settings are read', async () => {
  const world = aWorld(aDestination({ enabled: false }))
  world.take({ messageId: 'first' })
  world.change(both)
  world.take({ messageId: 'second' })
  await world.fate()
  world.begin()
  expect(world.headers('X-Message-Id')).toEqual(['first', 'first', 'second', 'second'])
})

test('an internal error parks the delivery', async () => {
  const world = aWorld()
  world.take({ messageId: undefined as never })
  world.begin()
  expect(await world.fate()).toBe('parked')
})
