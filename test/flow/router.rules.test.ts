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

test('a router stays in its group while the rules of 1,000 destinations run, and other sources go on', async () => {
  const world = await aWorld()
  const destinationsOf = (sourceId: string) => (sourceId === 'shop' ? destinations : [plain])
  const { routed } = await world.route({ destinationsOf })
  const before = await world.members()
  let sent = 2
  const began = performance.now()
  const others = { messageId: 'other', sourceId: 'app', userId: userBeside('shop/u1') }
  await world.send({ messageId: 'first', properties }, { messageId: 'second', properties }, others)
  // an event takes 1 s to 10 s, depending on the machine and its load: another one always waits
  const isOver = () => performance.now() - began > LONG_MS
  const left = () => sent - routed.filter((id) => id !== 'other').length
  while (!isOver()) {
    await until(() => left() < 2 || isOver())
    if (!isOver()) await world.send({ messageId: `more${sent++}`, properties })
  }
  await until(async () => (await world.committed()) === sent + 1, { timeout: 330_000 })
  expect(routed).toHaveLength(sent + 1)
  // although it is the last of the three in the partition
  expect(routed.indexOf('other')).toBeLessThan(routed.indexOf('second'))
  const written = [...(await readAll(world.kafka, DELIVERIES)), ...(await readAll(world.kafka, DEAD))]
  expect(written).toHaveLength(sent * destinations.length + 1)
  expect(before).toHaveLength(1)
  expect(await world.members()).toEqual(before)
}, 400_000)

/** A user whose events are in the same partition. */
function userBeside(key: string): string {
  const of = (text: string) => partitionOf(Buffer.from(text), 4)
  for (let nth = 0; ; nth++) if (of(`app/u${nth}`) === of(key)) return `u${nth}`
}
