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
/** Each entry copies the properties: about 0.1 s in all. */
const costly: NonNullable<Destination['rules']> = {
  redact: Array.from({ length: 100 }, (_, nth) => ({ path: `properties.k${nth}`, as: 'mask' })),
}
const destinations = Array.from({ length: 1_000 }, (_, nth) =>
  aDestination({ id: `costly${nth}`, rules: costly, hashKey: 'a-hash-key-of-this-test' }),
)
const plain = aDestination({ id: 'plain', sourceIds: ['app'] })
/** Their rules take longer than a session of the group: 15 s of CPU, so minutes on a busy machine. */
const EVENTS = 7

test('a router stays in its group while the rules of 1,000 destinations run, and other sources go on', async () => {
  const world = await aWorld()
  await world.route({ destinationsOf: (sourceId) => (sourceId === 'shop' ? destinations : [plain]) })
  const before = await world.members()
  const events = Array.from({ length: EVENTS }, (_, nth) => ({ messageId: `costly${nth}`, properties }))
  await world.send(...events, { messageId: 'other', sourceId: 'app', userId: userBeside('shop/u1') })
  await until(async () => (await world.delivered()).includes('other'), { timeout: 60_000 })
  expect(await world.committed()).toBeLessThan(EVENTS)
  await until(async () => (await world.committed()) === EVENTS + 1, { timeout: 240_000 })
  const written = [...(await readAll(world.kafka, DELIVERIES)), ...(await readAll(world.kafka, DEAD))]
  expect(written).toHaveLength(EVENTS * destinations.length + 1)
  expect(before).toHaveLength(1)
  expect(await world.members()).toEqual(before)
}, 330_000)

/** A user whose events are in the same partition. */
function userBeside(key: string): string {
  const of = (text: string) => partitionOf(Buffer.from(text), 4)
  for (let nth = 0; ; nth++) if (of(`app/u${nth}`) === of(key)) return `u${nth}`
}
