import { describe, expect, test } from 'vitest'
import { createConnections, type Pooled } from '../../delivery/post/connections.ts'

const MAX_IDLE = 100
const [here, there] = ['https://here.example', 'https://there.example']

const laterTurn = () => new Promise(setImmediate)

/** Names show the order of opening (`here#0`), `closed` that of closing. */
function aWorld() {
  let now = 0
  let opened = 0
  const closed: string[] = []
  const names = new Map<Pooled, string>()
  const connections = createConnections<Pooled>(
    (origin) => {
      const name = `${new URL(origin).hostname.split('.')[0]}#${opened++}`
      const client = { idleSince: 0, destroy: async () => void closed.push(name) }
      names.set(client, name)
      return client
    },
    { maxIdle: MAX_IDLE, now: () => now },
  )
  const take = (origin: string, count = 1) =>
    Array.from({ length: count }, () => connections.take(origin, origin))
  return {
    ...connections,
    names: (origin: string, count = 1) => take(origin, count).map((client) => names.get(client)),
    many: take,
    keep(origin: string, clients: readonly Pooled[]) {
      for (const client of clients) connections.release(origin, client)
    },
    wait(ms: number) {
      now += ms
    },
    /** Resolves when the old ones are closed. */
    async closeIdle() {
      connections.closeIdle(now)
      await laterTurn()
    },
    closed,
  }
}

describe('a connection', () => {
  test('in use is not shared', () => {
    const world = aWorld()
    expect(world.names(here, 2)).toEqual(['here#0', 'here#1'])
  })

  test('that was released last is used first, and each only once', () => {
    const world = aWorld()
    world.keep(here, world.many(here, 3).reverse())
    expect(world.names(here, 4)).toEqual(['here#0', 'here#1', 'here#2', 'here#3'])
    expect(world.closed).toEqual([])
  })

  test('is used only for its own origin', () => {
    const world = aWorld()
    world.keep(here, world.many(here))
    world.keep(there, world.many(there))
    expect(world.names(here, 2)).toEqual(['here#0', 'here#2'])
    expect(world.names(there, 2)).toEqual(['there#1', 'there#3'])
  })

  test('is used only for its own webhook, even if another one has the same origin', () => {
    const world = aWorld()
    const client = world.take(`a ${here}`, here)
    world.release(`a ${here}`, client)
    expect(world.take(`b ${here}`, here)).not.toBe(client)
    expect(world.take(`a ${here}`, here)).toBe(client)
  })

  test('that is dropped is closed, in a later turn than the end of its request', async () => {
    const world = aWorld()
    for (const client of world.many(here)) world.drop(client)
    await Promise.resolve()
    expect(world.closed).toEqual([])
    await laterTurn()
    expect(world.closed).toEqual(['here#0'])
  })
})

describe('as many idle connections of all origins as there may be stay open', () => {
  const third = 'https://third.example'

  /** Half of each origin. The second half is released a second later. */
  function aFullWorld() {
    const world = aWorld()
    const [ours, theirs] = [here, there].map((origin) => world.many(origin, MAX_IDLE / 2))
    world.keep(here, ours ?? [])
    world.wait(1_000)
    world.keep(there, theirs ?? [])
    return world
  }

  test('further ones are closed in a later turn', async () => {
    const world = aFullWorld()
    await laterTurn()
    expect(world.closed).toEqual([])
    world.keep(third, world.many(third))
    await Promise.resolve()
    expect(world.closed).toEqual([])
    await laterTurn()
    expect(world.closed).toEqual([`third#${MAX_IDLE}`])
  })

  test('those unused for two seconds make room for a released one', async () => {
    const world = aFullWorld()
    world.wait(1_001)
    world.keep(third, world.many(third))
    await laterTurn()
    const ours = Array.from({ length: MAX_IDLE / 2 }, (_, index) => `here#${index}`)
    expect(world.closed).toEqual(ours)
    expect(world.names(third)).toEqual([`third#${MAX_IDLE}`])
  })

  test('taken ones make room', async () => {
    const world = aFullWorld()
    world.keep(here, world.many(here, 5))
    await laterTurn()
    expect(world.closed).toEqual([])
  })

  test('those closed after a long idle time make room', async () => {
    const world = aFullWorld()
    world.wait(10_001)
    await world.closeIdle()
    expect(world.closed).toHaveLength(MAX_IDLE)
    world.keep(here, world.many(here, MAX_IDLE))
    await laterTurn()
    expect(world.closed).toHaveLength(MAX_IDLE)
  })
})

test('connections idle for over 10 s are closed, the others stay open', async () => {
  const world = aWorld()
  const [first, second, used] = [world.many(here), world.many(here), world.many(there)]
  world.keep(here, first)
  world.wait(1)
  world.keep(here, second)
  world.wait(10_000)
  await world.closeIdle()
  expect(world.closed).toEqual(['here#0'])
  world.wait(1)
  world.keep(there, used)
  await world.closeIdle()
  expect(world.closed).toEqual(['here#0', 'here#1'])
  expect(world.names(there)).toEqual(['there#2'])
})

test('a connection used now and then stays open: its idle time starts at its last use', async () => {
  const world = aWorld()
  for (let use = 0; use < 3; use++) {
    world.keep(here, world.many(here))
    world.wait(9_000)
    await world.closeIdle()
  }
  expect([world.names(here), world.closed]).toEqual([['here#0'], []])
})

describe('a closed connection is never used again', () => {
  test('when it was dropped', async () => {
    const world = aWorld()
    const [kept, dropped] = [world.many(here), world.many(here)]
    world.keep(here, kept)
    for (const client of dropped) world.drop(client)
    expect(world.names(here, 2)).toEqual(['here#0', 'here#2'])
  })

  test('when it was surplus, not even in the turn before it closes', async () => {
    const world = aWorld()
    world.keep(here, world.many(here, MAX_IDLE + 1))
    const taken = world.names(here, MAX_IDLE + 1)
    await laterTurn()
    expect(world.closed).toEqual([`here#${MAX_IDLE}`])
    expect(taken).not.toContain(`here#${MAX_IDLE}`)
  })

  test('when it was idle for long, whether or not others of its origin are left', async () => {
    const world = aWorld()
    const [first, second, other] = [world.many(here), world.many(here), world.many(there)]
    world.keep(here, first)
    world.keep(there, other)
    world.wait(6_000)
    world.keep(here, second)
    world.wait(6_000)
    await world.closeIdle()
    expect(world.closed).toEqual(['here#0', 'there#2'])
    expect(world.names(here, 2)).toEqual(['here#1', 'here#3'])
    expect(world.names(there)).toEqual(['there#4'])
  })

  test('when all were closed', async () => {
    const world = aWorld()
    world.keep(here, world.many(here, 2))
    await world.close()
    expect(world.names(here)).toEqual(['here#2'])
  })
})

describe('at shutdown', () => {
  test('all are closed once, in use or idle', async () => {
    const world = aWorld()
    for (const client of world.many(here)) world.drop(client)
    await laterTurn()
    world.keep(here, world.many(here))
    world.many(there)
    await world.close()
    expect(world.closed).toEqual(['here#0', 'here#1', 'there#2'])
  })

  test('it resolves when the last one is closed', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = { idleSince: 0, destroy: () => promise }
    const connections = createConnections(() => slow, { maxIdle: MAX_IDLE, now: () => 0 })
    connections.take(here, here)
    let over = false
    const closing = connections.close().then(() => {
      over = true
    })
    await laterTurn()
    expect(over).toBe(false)
    resolve()
    await closing
  })
})
