import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Behaviour,
  LIMIT_MS,
  LONGEST_MS,
  originsOf,
  type Sent,
  sendFor,
  simulate,
  targetOf,
} from './simulation.ts'

const waits = (sent: readonly Sent[]) => sent.map(({ at, begunAt = Number.NaN }) => begunAt - at)
const share = (sent: readonly Sent[], end: Sent['end']) =>
  sent.filter((one) => one.end === end).length / sent.length

describe('a lane', () => {
  test('begins the POSTs to one webhook in order', () => {
    const world = simulate({ slots: 8 })
    world.become('http://a', { answersAfter: 30 })
    for (let each = 0; each < 50; each++) world.send('http://a')
    world.pass(5_000)
    const starts = world.sent.map(({ begunAt }) => begunAt ?? Number.NaN)
    expect(starts).toEqual(starts.toSorted((one, other) => one - other))
    expect(share(world.sent, 'answered')).toBe(1)
  })

  test('is fair: a webhook with a thousand waiting POSTs does not delay one with a single POST', () => {
    const world = simulate({ slots: 8 })
    world.become('http://flooded', { answersAfter: 20 })
    for (let each = 0; each < 1_000; each++) world.send('http://flooded')
    const other = world.send('http://other')
    world.pass(100)
    expect(other.end).toBe('answered')
  })

  test('never uses more than half of its slots for one webhook', () => {
    const world = simulate({ slots: 16 })
    world.become('http://a', { answersAfter: 100 })
    let most = 0
    for (let each = 0; each < 3_000; each++) {
      world.send('http://a')
      world.pass(1)
      most = Math.max(most, world.inFlight('http://a'))
    }
    expect(most).toBe(8)
  })

  test('gives one webhook half of its room, and keeps some for others', () => {
    const world = simulate()
    world.become('http://a', 'hangs')
    for (let each = 0; each < 10_000; each++) world.send('http://a')
    expect(world.lane.count().waiting).toBeLessThan(2_100)
    expect(share(world.sent, 'queue_full')).toBeGreaterThan(0.75)
    expect(world.send('http://b').end).toBeUndefined()
    expect(world.lane.isFull()).toBe(false)
  })

  test('gives one webhook with large bodies half of its memory, and is not full then', () => {
    const world = simulate()
    world.become('http://large', 'hangs')
    for (let each = 0; each < 2_000; each++) world.send('http://large', { bytes: 32 * 1_024 })
    expect(world.lane.count().waiting).toBeLessThanOrEqual(512)
    expect(world.lane.isFull()).toBe(false)
    expect(world.send('http://other', { bytes: 32 * 1_024 }).end).toBeUndefined()
  })

  test('accepts at least one POST for each webhook, however large the others are', () => {
    const world = simulate({ slots: 4 })
    for (const origin of originsOf(1_100)) {
      world.become(origin, 'hangs')
      world.send(origin, { bytes: 32 * 1_024 })
    }
    expect(world.lane.isFull()).toBe(true)
    expect(world.send('http://other', { bytes: 32 * 1_024 }).end).toBeUndefined()
  })

  test('drops POSTs that are no longer needed, when they would begin or at a tick', () => {
    const world = simulate({ slots: 1 })
    let isNeeded = true
    world.become('http://a', { answersAfter: 10 })
    for (let each = 0; each < 3; each++) world.send('http://a', { isNeeded: () => isNeeded })
    isNeeded = false
    const kept = world.send('http://a')
    world.lane.dropUnneeded()
    expect(world.sent.map(({ end }) => end)).toEqual([undefined, 'dropped', 'dropped', undefined])
    world.pass(100)
    expect(kept.end).toBe('answered')
  })

  test('leaves excess deliveries for a fast webhook in Kafka, and defers those for others', () => {
    const world = simulate()
    sendFor(world, { ms: 3_000, perSecond: 5_000, origins: ['http://fast'] })
    sendFor(world, { ms: 3_000, perSecond: 300, origins: ['http://other'] })
    const pressure = () =>
      ['http://fast', 'http://other'].map((origin) => world.lane.pressure(targetOf(origin))?.isFull)
    for (let each = 0; each < 1_000; each++) world.send('http://other')
    expect(pressure()).toEqual([undefined, undefined])
    sendFor(world, { ms: 1_000, perSecond: 5_000, origins: ['http://fast'] })
    for (let each = 0; each < 1_000; each++) world.send('http://fast')
    expect(pressure()).toEqual([false, undefined])
    for (let each = 0; each < 2_000; each++) world.send('http://fast')
    expect(pressure()).toEqual([true, undefined])
  })

  test('leaves deliveries for one webhook in Kafka when they are nearly all work of a busy process', () => {
    let busy = true
    const world = simulate({ isBusy: () => busy })
    const flood = () => {
      for (let each = 0; each < 1_000; each++) world.send('http://slower')
      return world.lane.pressure(targetOf('http://slower'))?.isFull
    }
    sendFor(world, { ms: 3_000, perSecond: 500, origins: ['http://slower'] })
    expect(flood()).toBe(false)
    busy = false
    expect(flood()).toBeUndefined()
    busy = true
    sendFor(world, { ms: 3_000, perSecond: 1_000, origins: ['http://slower', 'http://other'] })
    expect(flood()).toBeUndefined()
  })

  test('leaves excess deliveries in Kafka when the process is busy, except for webhooks in trouble or slow ones', () => {
    let busy = false
    const world = simulate({ slots: 128, isBusy: () => busy })
    const fine = originsOf(10)
    for (const origin of fine) world.become(origin, { answersAfter: 100 })
    world.become('http://slow', { answersAfter: 2_000 })
    sendFor(world, { ms: 5_000, perSecond: 2_200, origins: [...fine, 'http://slow'] })
    const waiting = () => fine.filter((origin) => world.lane.pressure(targetOf(origin))).length
    expect(waiting()).toBe(0)
    busy = true
    expect(waiting()).toBe(10)
    expect(world.lane.pressure(targetOf('http://slow'))).toBeUndefined()
  })

  test('defers nothing because the process was stopped', () => {
    const world = simulate({ slots: 8 })
    world.become('http://a', { answersAfter: 100 })
    for (let each = 0; each < 20; each++) world.send('http://a')
    world.pass(50)
    world.stop(60_000)
    world.pass(2_000)
    expect(share(world.sent, 'answered')).toBe(1)
  })

  test('does not count a webhook as silent because the process was stopped', () => {
    const world = simulate()
    world.become('http://a', { answersAfter: 100 })
    world.send('http://a')
    world.pass(50)
    world.stop(3_000)
    // these come before the answer to the first one is read
    for (let each = 0; each < 10; each++) world.send('http://a')
    world.pass(1_000)
    expect(share(world.sent, 'answered')).toBe(1)
  })

  test('defers nothing for a failure among answers', () => {
    const world = simulate()
    for (let each = 0; each < 100; each++) {
      world.become('http://a', each % 4 === 0 ? { failsAfter: 30 } : { answersAfter: 30 })
      for (let post = 0; post < 10; post++) world.send('http://a')
      world.pass(50)
    }
    world.pass(1_000)
    expect(share(world.sent, 'queue_full')).toBe(0)
  })

  test('defers nothing for an old failure', () => {
    const world = simulate()
    world.become('http://a', { failsAfter: 1 })
    world.send('http://a')
    world.pass(60_000)
    world.become('http://a', { answersAfter: 5 })
    for (let each = 0; each < 100; each++) world.send('http://a')
    world.pass(1_000)
    expect(share(world.sent.slice(1), 'answered')).toBe(1)
  })

  test('defers POSTs that have waited for five seconds', () => {
    const world = simulate({ slots: 8 })
    world.become('http://a', { answersAfter: 3_000 })
    for (let each = 0; each < 20; each++) world.send('http://a')
    world.pass(5_100)
    expect(world.lane.count().waiting).toBe(0)
    expect(world.sent.filter(({ end }) => end === 'queue_full').length).toBeGreaterThan(0)
  })
})

describe('when webhooks hang', () => {
  test.each([LIMIT_MS, LONGEST_MS])(
    'for %d ms, four of twenty do not delay the others, from the first second on, and waste few first attempts',
    (limitMs) => {
      const world = simulate({ limitMs })
      const origins = originsOf(20)
      const dead = new Set(origins.slice(0, 4))
      sendFor(world, { ms: 2_000, perSecond: 1_000, origins })
      for (const origin of dead) world.become(origin, 'hangs')
      const sent = sendFor(world, { ms: 50_000 + 2 * limitMs, perSecond: 1_000, origins })
      world.pass(10_000)
      const healthy = sent.filter(({ origin }) => !dead.has(origin))
      expect(share(healthy, 'answered')).toBe(1)
      expect(waits(healthy).filter((wait) => wait > 0)).toEqual([])
      expect(share(sent, 'timed_out')).toBeLessThan(0.01)
      expect(world.webhooks.count().webhooks).toEqual({ closed: 16, open: 4 })
    },
  )

  test('two hundred of a thousand that die at once take all slots for at most a second at a time, not for five', () => {
    const world = simulate({ slots: 256 })
    const origins = originsOf(1_000)
    sendFor(world, { ms: 1_000, perSecond: 1_000, origins })
    const dead = new Set(origins.filter((_, index) => index % 5 === 0))
    for (const origin of dead) world.become(origin, 'hangs')
    const sent = sendFor(world, { ms: 60_000, perSecond: 1_000, origins })
    world.pass(20_000)
    const healthy = sent.filter(({ origin }) => !dead.has(origin))
    expect(share(healthy, 'answered')).toBe(1)
    expect(world.mostInFlight()).toBeLessThanOrEqual(512)
    const late = healthy.filter(({ at, begunAt = 0 }) => begunAt - at > 1_000)
    expect(late.length / healthy.length).toBeLessThan(0.2)
    const last = healthy.filter(({ at }) => at > world.now() - 40_000)
    expect(Math.max(...waits(last))).toBeLessThanOrEqual(50)
  })

  test('a fifth of five thousand does not fill the lane', () => {
    const world = simulate()
    const origins = originsOf(5_000)
    const dead = new Set(origins.filter((_, index) => index % 5 === 0))
    for (const origin of dead) world.become(origin, 'hangs')
    let full = 0
    for (let second = 0; second < 60; second++) {
      sendFor(world, { ms: 1_000, perSecond: 4_000, origins })
      if (world.lane.isFull()) full += 1
    }
    expect(full).toBeLessThanOrEqual(2)
    const last = world.sent.filter(({ at, origin }) => at > world.now() - 20_000 && !dead.has(origin))
    expect(Math.max(...waits(last.filter(({ end }) => end === 'answered')))).toBeLessThanOrEqual(50)
  })

  test('a doubtful webhook gets a slot although others use every slot', () => {
    const world = simulate({ slots: 16 })
    const busy = originsOf(8)
    for (const origin of busy) world.become(origin, { answersAfter: 20 })
    world.become('http://once', { failsAfter: 1 })
    world.send('http://once')
    world.pass(10)
    world.become('http://once', { answersAfter: 1 })
    sendFor(world, { ms: 500, perSecond: 4_000, origins: busy })
    const again = world.send('http://once')
    sendFor(world, { ms: 500, perSecond: 4_000, origins: busy })
    expect(again.end).toBe('answered')
  })

  test('a recovered one is probed within thirty seconds, although a thousand others are dead', () => {
    const world = simulate()
    const origins = originsOf(1_000)
    for (const origin of origins) world.become(origin, 'hangs')
    sendFor(world, { ms: 90_000, perSecond: 1_000, origins })
    for (const origin of origins.slice(0, 20)) world.become(origin, { answersAfter: 5 })
    sendFor(world, { ms: 30_000, perSecond: 1_000, origins })
    expect(world.webhooks.count().webhooks.closed).toBeGreaterThanOrEqual(20)
  })

  test('deliveries for a webhook that is down wait for at most a quarter of the time it has been down', () => {
    const world = simulate()
    world.become('http://a', 'refuses')
    sendFor(world, { ms: 600_000, perSecond: 10, origins: ['http://a'] })
    const last = world.sent.findLast(({ end }) => end === 'breaker_open')
    const down = (last?.at ?? Number.NaN) - (world.sent[0]?.at ?? Number.NaN)
    expect(last?.waitMs).toBeGreaterThan(down / 4 - 100)
    expect(last?.waitMs).toBeLessThanOrEqual(down / 4)
  })

  test("waiting POSTs are deferred in all lanes when the webhook's breaker opens", () => {
    const world = simulate()
    const retries = world.anotherLane()
    world.become('http://a', 'hangs')
    for (let each = 0; each < 20; each++) world.send('http://a')
    for (let each = 0; each < 20; each++) world.send('http://a', { to: retries })
    world.pass(5_100)
    expect(share(world.sent, 'breaker_open')).toBeGreaterThan(0.6)
    expect([world.lane.count().waiting, retries.count().waiting]).toEqual([0, 0])
  })

  test('doubtful ones use at most a quarter of the slots and half of the late slots, including probes', () => {
    const world = simulate({ slots: 64 })
    const origins = originsOf(100)
    for (const origin of origins) world.become(origin, 'hangs')
    sendFor(world, { ms: 20_000, perSecond: 1_000, origins })
    const dead: number[] = []
    for (let second = 0; second < 60; second++) {
      sendFor(world, { ms: 1_000, perSecond: 1_000, origins })
      const { prompt, late } = world.lane.count()
      dead.push(prompt + late)
    }
    expect(Math.max(...dead)).toBeLessThanOrEqual(16 + 32)
    expect(Math.min(...dead)).toBeGreaterThan(0)
  })
})

describe('a webhook', () => {
  test.each<[string, Behaviour]>([
    ['never answered', 'hangs'],
    ['refused', { failsAfter: 1 }],
  ])('that %s for a minute is back at its full rate within 30 seconds', (_, trouble) => {
    const world = simulate()
    world.become('http://a', trouble)
    sendFor(world, { ms: 60_000, perSecond: 500, origins: ['http://a'] })
    world.become('http://a', { answersAfter: 100 })
    sendFor(world, { ms: 30_000, perSecond: 500, origins: ['http://a'] })
    const after = sendFor(world, { ms: 5_000, perSecond: 500, origins: ['http://a'] })
    world.pass(1_000)
    expect(share(after, 'answered')).toBe(1)
    expect(Math.max(...waits(after))).toBeLessThan(100)
  })

  test('that takes two seconds per answer soon gets all of fifty POSTs a second', () => {
    const world = simulate()
    world.become('http://slow', { answersAfter: 2_000 })
    const sent = sendFor(world, { ms: 60_000, perSecond: 50, origins: ['http://slow'] })
    world.pass(5_000)
    expect(share(sent.slice(-1_500), 'answered')).toBe(1)
    expect(Math.max(...waits(sent.slice(-500)))).toBe(0)
    expect(share(sent, 'answered') + share(sent, 'queue_full')).toBe(1)
  })

  test("that is slow does not use up others' slots with its backlog", () => {
    const world = simulate({ slots: 128 })
    const origins = originsOf(20)
    const slow = origins.slice(0, 4)
    sendFor(world, { ms: 2_000, perSecond: 1_000, origins })
    for (const origin of slow) world.become(origin, { answersAfter: 2_000 })
    const sent = sendFor(world, { ms: 60_000, perSecond: 1_000, origins })
    world.pass(10_000)
    const others = sent.filter(({ origin }) => !slow.includes(origin))
    expect(share(others, 'answered')).toBe(1)
    expect(Math.max(...waits(others))).toBeLessThanOrEqual(50)
  })

  test('that becomes slow gets POSTs evenly, not in bursts, and few are deferred', () => {
    const world = simulate()
    sendFor(world, { ms: 2_000, perSecond: 50, origins: ['http://slow'] })
    world.become('http://slow', { answersAfter: 2_000 })
    const sent = sendFor(world, { ms: 30_000, perSecond: 50, origins: ['http://slow'] })
    world.pass(10_000)
    const begun = sent.flatMap(({ begunAt }) => begunAt ?? [])
    const within = (from: number) => begun.filter((at) => from <= at && at < from + 50).length
    expect(Math.max(...begun.map(within))).toBeLessThanOrEqual(10)
    expect(share(sent, 'queue_full')).toBeLessThan(0.05)
    expect(Math.max(...waits(sent.slice(-1_000)))).toBe(0)
  })

  test('that was idle, is slow, and gets five hundred at once finishes them after one round of deferrals', () => {
    const world = simulate()
    const retries = world.anotherLane()
    world.become('http://slow', { answersAfter: 2_000 })
    const first = Array.from({ length: 500 }, () => world.send('http://slow'))
    world.pass(10_000)
    const putOff = first.filter(({ end }) => end === 'queue_full')
    const again = putOff.map(() => world.send('http://slow', { to: retries }))
    world.pass(7_000)
    expect(first.length - putOff.length).toBeGreaterThan(8)
    expect(share(again, 'answered')).toBe(1)
  })

  test('that has been silent for a second gets no more POSTs until it is heard from', () => {
    const world = simulate()
    world.become('http://a', { answersAfter: 3_000 })
    world.send('http://a')
    world.pass(1_500)
    const second = world.send('http://a')
    world.pass(1_000)
    expect(second.begunAt).toBeUndefined()
    world.pass(1_000)
    expect(second.begunAt).toBeDefined()
  })
})

test('whatever webhooks do, each POST ends once, no limit is exceeded, and all flows once they answer', () => {
  const behaviour = fc.oneof(
    fc.constant<Behaviour>('hangs'),
    fc.nat(7_000).map((ms): Behaviour => ({ answersAfter: ms })),
    fc.nat(1_000).map((ms): Behaviour => ({ failsAfter: ms })),
  )
  const step = fc.record({ origin: fc.nat(4), behaviour, posts: fc.nat(40), ms: fc.nat(3_000) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 32 }), fc.array(step, { maxLength: 40 }), (slots, steps) => {
      const world = simulate({ slots })
      const origins = originsOf(5)
      for (const { origin, behaviour: next, posts, ms } of steps) {
        world.become(origins[origin] ?? '', next)
        for (let each = 0; each < posts; each++) world.send(origins[(origin + each) % 5] ?? '')
        for (const one of origins) expect(world.inFlight(one)).toBeLessThanOrEqual(Math.max(4, slots / 2) + 1)
        world.pass(ms)
      }
      expect(world.mostInFlight()).toBeLessThanOrEqual(slots * 2)
      for (const origin of origins) world.become(origin, { answersAfter: 10 })
      sendFor(world, { ms: 30_000, perSecond: 5, origins })
      world.pass(10_000)
      expect(world.sent.filter(({ end }) => end === undefined)).toEqual([])
      expect(world.lane.count()).toEqual({ waiting: 0, prompt: 0, late: 0 })
      expect(world.webhooks.count().webhooks.open).toBe(0)
    }),
    { numRuns: 50 },
  )
})
