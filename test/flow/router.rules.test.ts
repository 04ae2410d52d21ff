import { expect, test } from 'vitest'
import { partitionOf } from '../../kafka/produce/partition.ts'
import { DEAD, DELIVERIES } from '../../schemas/topics.ts'
import type { Destination } from '../../settings/settings.ts'
import { readAll } from '../helpers/cluster.ts'
import { aDestination } from '../helpers/events.ts'
import { aWorld } from '../helpers/router-parts.ts'
import { until } from '../helpers/until.ts'

/** An event of 31 KB. */
const properties = JSON.stringify(
  Object.fromEntries(Array.from({ length: 3_500 }, (_, nth) => [`k${nth}`, 1])),
)
/** Each entry copies the properties. The bodies are small: 7,000 large ones would take longer than the rules. */
const costly: NonNullable<Destination['rules']> = {
  redact: Array.from({ length: 100 }, (_, nth) => ({ path: `properties.k${nth}`, as: 'mask' })),
  shape: { k0: '{{properties.k0}}' },
}
const destinations = Array.from({ length: 1_000 }, (_, nth) =>
  aDestination({ id: `costly${nth}`, rules: costly, hashKey: 'a-hash-key-of-this-test' }),
)
const plain = aDestination({ id: 'plain', sourceIds: ['app'] })
/** Longer than the group's session timeout: 10 s. */
const LONG_MS = 13_000
/** The router would not read more before it has routed the first. */
const MAX_EVENTS = 7

test('a router stays in its group while the rules of 1,000 destinations run, and other sources go on', async () => {
  const world = await aWorld()
  const destinationsOf = (sourceId: string) => (sourceId === 'shop' ? destinations : [plain])
  const { routed } = await world.route({ destinationsOf })
  const before = await world.members()
  const began = performance.now()
  await world.send({ messageId: 'first', properties })
  await until(() => routed.length === 1, { timeout: 120_000 })
  // an event takes 1 s to 10 s, depending on the machine and its load
  const eachMs = performance.now() - began
  const count = Math.min(MAX_EVENTS, Math.ceil(LONG_MS / eachMs))
  const events = Array.from({ length: count }, (_, nth) => ({ messageId: `costly${nth}`, properties }))
  await world.send(...events, { messageId: 'other', sourceId: 'app', userId: userBeside('shop/u1') })
  await until(async () => (await world.committed()) === count + 2, { timeout: 240_000 })
  // `other` is the last in the partition, but not the last to be routed
  expect(routed).toHaveLength(count + 2)
  expect(routed.at(-1)).not.toBe('other')
  const written = [...(await readAll(world.kafka, DELIVERIES)), ...(await readAll(world.kafka, DEAD))]
  expect(written).toHaveLength((count + 1) * destinations.length + 1)
  expect(before).toHaveLength(1)
  expect(await world.members()).toEqual(before)
}, 400_000)

/** A user whose events are in the same partition. */
function userBeside(key: string): string {
  const of = (text: string) => partitionOf(Buffer.from(text), 4)
  for (let nth = 0; ; nth++) if (of(`app/u${nth}`) === of(key)) return `u${nth}`
}
