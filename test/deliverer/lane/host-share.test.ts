import { describe, expect, test } from 'vitest'
import {
  createHostShare,
  endInShare,
  enterShare,
  hostAllows,
  hostLimits,
  isCrowded,
} from '../../../deliverer/lane/host-share.ts'
import type { Job, WebhookQueue } from '../../../deliverer/lane/state.ts'
import { createWebhookQueue, onBegun } from '../../../deliverer/lane/webhook-queue.ts'
import { createWebhooks } from '../../../delivery/webhooks.ts'
import { type Behaviour, LIMIT_MS, LONGEST_MS, type Sent, sendFor, simulate, targetOf } from './simulation.ts'

const HOST = 'http://gateway'
const webhooksOf = (count: number, host = HOST) =>
  Array.from({ length: count }, (_, index) => `${host}/${index}`)
const others = Array.from({ length: 16 }, (_, index) => `http://other${index}`)

const share = (sent: readonly Sent[], end: Sent['end']) =>
  sent.filter((one) => one.end === end).length / sent.length
const longestWait = (sent: readonly Sent[]) =>
  Math.max(...sent.map(({ at, begunAt = Number.POSITIVE_INFINITY }) => begunAt - at))

/** Sends to all in turn. @returns what was sent to the healthy ones */
function run(options: {
  healthy: readonly string[]
  troubled: readonly string[]
  behaviour: Behaviour
  perSecond: { healthy: number; troubled: number }
  warmMs?: number
  ms?: number
  limitMs?: number
}) {
  const { healthy, troubled, behaviour, perSecond, limitMs = LIMIT_MS } = options
  const { warmMs = 3_000, ms = 20_000 + 2 * limitMs } = options
  const world = simulate({ limitMs })
  const sent: Sent[] = []
  let most = 0
  const all = (forMs: number) => {
    let [ofHealthy, ofTroubled] = [0, 0]
    for (let passed = 1; passed <= forMs; passed++) {
      for (; ofHealthy < (passed * perSecond.healthy) / 1_000; ofHealthy++)
        sent.push(world.send(healthy[ofHealthy % healthy.length] ?? ''))
      for (; ofTroubled < (passed * perSecond.troubled) / 1_000; ofTroubled++)
        world.send(troubled[ofTroubled % troubled.length] ?? '')
      world.pass(1)
      const { prompt, late } = world.lane.count()
      most = Math.max(most, prompt + late)
    }
  }
  all(warmMs)
  for (const url of troubled) world.become(url, behaviour)
  all(ms)
  world.pass(10_000)
  return { world, sent, most }
}

/** One webhook answered a moment ago; the others hang. */
function aGateway(hanging: number) {
  const world = simulate()
  const gateway = `${HOST}/fine`
  world.become(gateway, { answersAfter: 50 })
  for (const url of webhooksOf(hanging)) world.become(url, 'hangs')
  world.send(gateway)
  world.pass(100)
  return { world, gateway, sent: [] as Sent[] }
}

/** Meanwhile the thousand hanging webhooks get events, in irregular order. */
function among(
  world: ReturnType<typeof simulate>,
  { ms, perSecond }: { ms: number; perSecond: number },
  each = (): unknown => undefined,
): void {
  for (let passed = 0; passed < ms; passed++) {
    for (let made = 0; made < perSecond / 1_000; made++) world.send(`${HOST}/${(world.now() * 7_919) % 997}`)
    each()
    world.pass(1)
  }
}

describe('a webhook on a host', () => {
  test.each<[string, Behaviour, number, number?]>([
    ['hangs, at 100 events a second', 'hangs', 100],
    ['hangs for a minute, at 100 events a second', 'hangs', 100, LONGEST_MS],
    ['answers 500, at 100 events a second', { failsAfter: 5 }, 100],
    ['hangs, at 5 events a second', 'hangs', 5],
  ])('is not delayed by another webhook there that %s', (_, behaviour, troubled, limitMs = LIMIT_MS) => {
    const { sent } = run({
      healthy: [`${HOST}/fine`],
      troubled: [`${HOST}/bad`],
      behaviour,
      perSecond: { healthy: 20, troubled },
      limitMs,
    })
    expect(share(sent, 'answered')).toBe(1)
    expect(longestWait(sent)).toBe(0)
  })

  test.each([LIMIT_MS, LONGEST_MS])('is not delayed by a thousand others that hang for %d ms', (limitMs) => {
    const { sent } = run({
      healthy: [`${HOST}/fine`],
      troubled: webhooksOf(1_000),
      behaviour: 'hangs',
      perSecond: { healthy: 20, troubled: 1_000 },
      limitMs,
    })
    expect(share(sent, 'answered')).toBe(1)
    expect(longestWait(sent)).toBeLessThanOrEqual(100)
  })

  test.each([5, 50])(
    'that is one of a thousand quiet ones (%d events a second in all) is not delayed by a thousand that hang from the start',
    (perSecond) => {
      const quiet = webhooksOf(1_000, `${HOST}/quiet`)
      const world = simulate()
      sendFor(world, { ms: 20_000, perSecond: 50, origins: quiet })
      const hanging = webhooksOf(1_000, `${HOST}/hanging`)
      for (const url of hanging) world.become(url, 'hangs')
      const sent: Sent[] = []
      for (let ms = 0; ms < 60_000; ms++) {
        if (ms % (1_000 / perSecond) === 0) sent.push(world.send(quiet[sent.length % quiet.length] ?? ''))
        if (ms % 10 === 0) world.send(hanging[(ms / 10) % hanging.length] ?? '')
        world.pass(1)
      }
      expect(share(sent.slice(0, -1), 'answered')).toBe(1)
      expect(longestWait(sent)).toBe(0)
    },
  )

  test('that answers again is probed within thirty seconds, although a thousand others hang', () => {
    const world = simulate()
    const urls = webhooksOf(1_000)
    for (const url of urls) world.become(url, 'hangs')
    sendFor(world, { ms: 240_000, perSecond: 1_000, origins: urls })
    expect(world.webhooks.count().webhooks.closed).toBe(0)
    for (const url of urls.slice(0, 20)) world.become(url, { answersAfter: 5 })
    sendFor(world, { ms: 30_000, perSecond: 1_000, origins: urls })
    expect(world.webhooks.count().webhooks.closed).toBe(20)
    for (const url of urls) world.become(url, { answersAfter: 5 })
    sendFor(world, { ms: 15_000, perSecond: 1_000, origins: urls })
    expect(world.webhooks.count().webhooks.closed).toBe(1_000)
  })

  test('that answers 500 now and then is not delayed by a thousand others that hang', () => {
    const { world, gateway, sent } = aGateway(1_000)
    for (let second = 0; second < 90; second++) {
      world.become(gateway, second % 7 === 0 ? { failsAfter: 20 } : { answersAfter: 20 })
      among(
        world,
        { ms: 200, perSecond: 1_000 },
        () => world.now() % 50 === 0 && sent.push(world.send(gateway)),
      )
      world.become(gateway, { answersAfter: 20 })
      among(
        world,
        { ms: 800, perSecond: 1_000 },
        () => world.now() % 50 === 0 && sent.push(world.send(gateway)),
      )
    }
    world.pass(5_000)
    expect(share(sent, 'answered') + share(sent, 'failed')).toBe(1)
    expect(longestWait(sent)).toBeLessThan(1_000)
  })

  test('gets ten events at once, although a thousand others hang', () => {
    const { world, gateway, sent } = aGateway(1_000)
    for (let burst = 0; burst < 8; burst++) {
      among(world, { ms: 7_000, perSecond: 1_000 })
      for (let each = 0; each < 10; each++) sent.push(world.send(gateway))
    }
    world.pass(5_000)
    expect(share(sent, 'answered')).toBe(1)
    expect(longestWait(sent)).toBeLessThan(1_000)
  })

  test('that gets one event in ten seconds is probed within half a minute of its recovery, although a thousand others hang', () => {
    const { world, gateway, sent } = aGateway(1_000)
    world.become(gateway, { failsAfter: 5 })
    for (let each = 0; each < 5; each++) {
      world.send(gateway)
      world.pass(20)
    }
    expect(world.webhooks.count().webhooks.open).toBe(1)
    among(world, { ms: 150_000, perSecond: 1_000 })
    world.become(gateway, { answersAfter: 50 })
    for (let each = 0; each < 4; each++) {
      among(world, { ms: 10_000, perSecond: 1_000 })
      sent.push(world.send(gateway))
    }
    world.pass(5_000)
    expect(sent.slice(2).map(({ end }) => end)).toEqual(['answered', 'answered'])
  })

  test('that is new is not delayed by a thousand others that hang', () => {
    const { world } = run({
      healthy: others,
      troubled: webhooksOf(1_000),
      behaviour: 'hangs',
      perSecond: { healthy: 100, troubled: 1_000 },
      ms: 10_000,
    })
    const sent = sendFor(world, { ms: 5_000, perSecond: 20, origins: [`${HOST}/new`] })
    world.pass(5_000)
    expect(share(sent.slice(20), 'answered')).toBe(1)
  })
})

describe('beside a busy webhook of its host that answers', () => {
  const busy = `${HOST}/busy`

  /** The busy one gets events for half a minute. `each` runs every millisecond. */
  function beside(
    answersAfter: number,
    perSecond: number,
    each: (world: ReturnType<typeof simulate>, ms: number) => void,
  ) {
    const world = simulate()
    world.become(busy, { answersAfter })
    let made = 0
    for (let ms = 0; ms < 30_000; ms++) {
      for (; made < (ms * perSecond) / 1_000; made++) world.send(busy)
      each(world, ms)
      world.pass(1)
    }
    world.pass(6_000)
  }

  test.each([
    ['quick and takes all it may', 200, 1_500],
    ['slow', 3_000, 100],
  ])(
    'which is %s, others are not held up: quiet ones, steady ones and new ones',
    (_, answersAfter, perSecond) => {
      const sent: Sent[] = []
      beside(answersAfter, perSecond, (world, ms) => {
        if (ms > 5_000 && ms % 1_000 === 0) sent.push(world.send(`${HOST}/quiet`))
        if (ms > 5_000 && ms % 50 === 0) sent.push(world.send(`${HOST}/steady`))
        if (ms > 5_000 && ms % 500 === 0) sent.push(world.send(`${HOST}/new${ms}`))
      })
      expect(share(sent, 'answered')).toBe(1)
      expect(longestWait(sent)).toBeLessThanOrEqual(100)
    },
  )

  test('one that has recovered is probed', () => {
    const sent: Sent[] = []
    beside(3_000, 100, (world, ms) => {
      if (ms === 0) world.become(`${HOST}/back`, { failsAfter: 5 })
      if (ms < 1_000 && ms % 100 === 0) world.send(`${HOST}/back`)
      if (ms === 15_000) world.become(`${HOST}/back`, { answersAfter: 5 })
      if (ms > 15_000 && ms % 1_000 === 0) sent.push(world.send(`${HOST}/back`))
    })
    expect(share(sent, 'answered')).toBe(1)
  })
})

describe('a host', () => {
  test.each([
    [300, 2_000],
    [1_000, 2_000],
    [1_000, 4_000],
  ])(
    'with %d webhooks that answer in 100 ms, at %d events a second, leaves the lane to others when all begin to hang',
    (count, perSecond) => {
      const world = simulate()
      const urls = webhooksOf(count)
      for (const url of urls) world.become(url, { answersAfter: 100 })
      sendFor(world, { ms: 10_000, perSecond, origins: urls })
      for (const url of urls) world.become(url, 'hangs')
      const sent: Sent[] = []
      let made = 0
      for (let ms = 0; ms < 20_000; ms++) {
        for (; made < (ms * perSecond) / 1_000; made++) world.send(urls[made % count] ?? '')
        if (ms % 5 === 0) sent.push(world.send(others[(ms / 5) % others.length] ?? ''))
        world.pass(1)
      }
      expect(share(sent.slice(0, -10), 'answered')).toBe(1)
      expect(longestWait(sent)).toBe(0)
      // of 512 slots and as many late ones
      expect(world.mostInFlight()).toBeLessThan(600)
    },
  )

  test('whose webhooks hang and get large bodies leaves room to wait in the lane for others', () => {
    const world = simulate()
    const urls = webhooksOf(1_100)
    for (const url of urls) world.become(url, 'hangs')
    let made = 0
    for (let ms = 0; ms < 20_000; ms++) {
      for (; made < ms; made++) world.send(urls[made % urls.length] ?? '', { bytes: 32_000 })
      expect(world.lane.isFull()).toBe(false)
      world.pass(1)
    }
  })

  test.each([1_000, 3_000])(
    'with a thousand webhooks that all begin to hang, at %d events a second, leaves the lane to other hosts',
    (troubled) => {
      const { sent, most } = run({
        healthy: others,
        troubled: webhooksOf(1_000),
        behaviour: 'hangs',
        perSecond: { healthy: 500, troubled },
        ms: 60_000,
      })
      expect(share(sent, 'answered')).toBe(1)
      expect(longestWait(sent)).toBe(0)
      // of 512 slots and as many late ones
      expect(most).toBeLessThan(520)
    },
  )

  test('with a thousand new webhooks that answer gets every event', () => {
    const { sent } = run({
      healthy: webhooksOf(1_000),
      troubled: [`${HOST}/bad`],
      behaviour: 'hangs',
      perSecond: { healthy: 2_000, troubled: 1 },
      warmMs: 1,
      ms: 10_000,
    })
    expect(share(sent, 'answered')).toBe(1)
    expect(longestWait(sent)).toBeLessThanOrEqual(50)
  })

  test('that cannot be reached is probed once for all its webhooks, and the first answer counts for all of them', () => {
    const world = simulate()
    const urls = webhooksOf(100)
    for (const url of urls) world.become(url, 'refuses')
    const sent = sendFor(world, { ms: 20_000, perSecond: 200, origins: urls })
    expect(sent.filter(({ begunAt }) => begunAt !== undefined).length).toBeLessThan(20)
    expect(world.webhooks.count()).toEqual({
      webhooks: { closed: 100, open: 0 },
      hosts: { closed: 0, open: 1 },
    })
    for (const url of urls) world.become(url, { answersAfter: 5 })
    sendFor(world, { ms: 10_000, perSecond: 200, origins: urls })
    expect(share(sendFor(world, { ms: 2_000, perSecond: 200, origins: urls }), 'answered')).toBeGreaterThan(
      0.97,
    )
  })

  test('keeps its breaker closed when one of its webhooks answers and another fails', () => {
    const world = simulate()
    world.become(`${HOST}/bad`, { failsAfter: 5 })
    sendFor(world, { ms: 10_000, perSecond: 100, origins: [`${HOST}/bad`, `${HOST}/fine`] })
    expect(world.webhooks.count()).toEqual({
      webhooks: { closed: 1, open: 1 },
      hosts: { closed: 1, open: 0 },
    })
  })
})

describe('of 64 slots, a host', () => {
  /** Webhooks of one host. */
  function aHost() {
    const share = createHostShare(hostLimits(64, { posts: 4_096, bytes: 2 ** 25 }), 0)
    const webhooks = createWebhooks()
    const queueOf = (path: string | number) =>
      createWebhookQueue(webhooks.of(targetOf(`${HOST}/${path}`), 0), share, 0)
    const ended = ({ webhook }: WebhookQueue, as: 'answered' | 'failed', now = 0) =>
      webhooks.ended(webhook, as, { sent: true, now })
    const begin = (queue: WebhookQueue, now: number) => {
      enterShare(queue, false, now)
      onBegun(queue, now)
    }
    return { share, queueOf, ended, begin }
  }

  test('gets four for failing webhooks', () => {
    const { queueOf, ended, begin } = aHost()
    const allowed = [0, 1, 2, 3, 4].map((path) => {
      const queue = queueOf(path)
      ended(queue, 'failed')
      const isAllowed = hostAllows(queue, 0)
      begin(queue, 0)
      return isAllowed
    })
    expect(allowed).toEqual([true, true, true, true, false])
  })

  test('gets four for webhooks that have not answered, two trials, and one for each that has answered before', () => {
    const { queueOf, ended, begin } = aHost()
    const known = queueOf('known')
    ended(known, 'answered')
    const now = 5_000
    const allowed = Array.from({ length: 7 }, (_, path) => {
      const queue = queueOf(path)
      const isAllowed = hostAllows(queue, now)
      if (isAllowed) begin(queue, now)
      return isAllowed
    })
    expect(allowed).toEqual([...Array(6).fill(true), false])
    expect(hostAllows(known, now)).toBe(true)
    begin(known, now)
    expect(hostAllows(known, now)).toBe(false)
  })

  test('gets half for prompt POSTs, and an eighth more for webhooks that answer while others are silent', () => {
    const { share, queueOf, ended, begin } = aHost()
    begin(queueOf('silent'), 0)
    const answering = queueOf('answering')
    ended(answering, 'answered', 2_000)
    const quiet = queueOf('quiet')
    ended(quiet, 'answered', 0)
    const most = (queue: WebhookQueue) => {
      for (share.prompt = 0; share.prompt <= 64 && hostAllows(queue, 2_000); ) share.prompt += 1
      return share.prompt
    }
    expect([most(answering), most(quiet)]).toEqual([40, 36])
  })

  test('may have a quarter of the room of the lane waiting, and twice that for first POSTs', () => {
    const { share, queueOf } = aHost()
    const [first, second] = [queueOf('first'), queueOf('second')]
    second.jobs.push({ job: {} as Job, since: 0, isProbe: false, isUnproven: true })
    const crowded = [1_023, 1_024, 2_047, 2_048].map((waiting) => {
      share.waiting = waiting
      return [isCrowded(first, 0), isCrowded(second, 0)]
    })
    expect(crowded).toEqual([
      [false, false],
      [false, true],
      [false, true],
      [true, true],
    ])
  })

  test('may try an eighth fewer webhooks after each timeout, but always four', () => {
    const { share, queueOf, begin } = aHost()
    const queue = queueOf('silent')
    begin(queue, 0)
    share.cap = 32
    const caps = Array.from({ length: 20 }, () => {
      endInShare(queue, { ended: 'timed_out', hasOthers: true })
      return share.cap
    })
    expect([caps[0], caps.at(-1)]).toEqual([28, 4])
  })
})
