import { expect, test } from 'vitest'
import { DELIVERIES, SEEN } from '../../schemas/topics.ts'
import { readAll } from '../helpers/cluster.ts'
import { aWorld } from '../helpers/router-parts.ts'
import { until } from '../helpers/until.ts'

const once = { messageId: 'once' }
/** When it is routed, all earlier events of this user were decided. */
const last = { messageId: 'last' }

/** The first router ends while it handles `once`, and a second gets the rest. @returns the deliveries made */
async function afterACrash(
  world: Awaited<ReturnType<typeof aWorld>>,
  { first, crashWhen }: { first: Parameters<typeof world.route>[0]; crashWhen: () => Promise<boolean> },
) {
  const doomed = await world.route(first)
  await world.send(once)
  await until(crashWhen)
  await doomed.crash()
  const next = await world.route()
  await world.send(once, last)
  await until(async () => (await world.delivered()).includes('last'))
  return { delivered: await world.delivered(), duplicates: next.duplicates, loads: next.loads }
}

test('killed with the deliveries written but not the id: routed again with the same ids, and its duplicate is dropped', async () => {
  const world = await aWorld()
  const crashWhen = async () => (await world.delivered()).length === 1
  const after = await afterACrash(world, { first: { withheld: SEEN }, crashWhen })
  expect(after).toMatchObject({ delivered: ['once', 'once', 'last'], duplicates: ['once'] })
})

test('killed with the id written but not the deliveries: not a duplicate of itself', async () => {
  const world = await aWorld()
  const crashWhen = async () => (await readAll(world.kafka, SEEN)).length === 1
  const after = await afterACrash(world, { first: { withheld: DELIVERIES }, crashWhen })
  expect(after).toMatchObject({ delivered: ['once', 'last'], duplicates: ['once'] })
})

test('killed with both written and nothing committed: routed again, not a duplicate of itself', async () => {
  const world = await aWorld()
  const crashWhen = async () =>
    (await readAll(world.kafka, SEEN)).length === 1 && (await world.delivered()).length === 1
  const after = await afterACrash(world, { first: { settlesNothing: true }, crashWhen })
  expect(after).toMatchObject({ delivered: ['once', 'once', 'last'], duplicates: ['once'] })
})

test('killed after the commit: the next router knows the id', async () => {
  const world = await aWorld()
  const crashWhen = async () => (await world.committed()) === 1
  const after = await afterACrash(world, { first: {}, crashWhen })
  expect(after).toMatchObject({ delivered: ['once', 'last'], duplicates: ['once'] })
  expect(new Set(after.loads)).toEqual(new Set(['loaded']))
})

test('invalid records in router.seen are skipped', async () => {
  const world = await aWorld()
  const crashWhen = async () => {
    if ((await world.committed()) < 1) return false
    const foreign = [0, 1, 2, 3].map((partition) => ({
      topic: SEEN,
      partition,
      key: '',
      value: 'not packed',
    }))
    return (await world.producer.produce(foreign)) === 'acked'
  }
  const after = await afterACrash(world, { first: {}, crashWhen })
  expect(after).toMatchObject({ delivered: ['once', 'last'], duplicates: ['once'] })
})

test('each partition writes to the partition of the same number', async () => {
  const world = await aWorld()
  await world.route()
  const users = Array.from({ length: 40 }, (_, index) => ({ userId: `u${index}`, messageId: `m${index}` }))
  await world.send(...users)
  await until(async () => (await world.committed()) === 40)
  const partitions = (await readAll(world.kafka, SEEN)).map(({ partition, key }) => [partition, key])
  expect(new Set(partitions.map(([partition]) => partition)).size).toBe(4)
  for (const [partition, key] of partitions) expect(key).toBe(String(partition))
})

test('if ids cannot be loaded, routing waits at most two seconds, and uses them once they are loaded', async () => {
  const world = await aWorld()
  const before = await world.route()
  await world.send(once, { messageId: 'twice' })
  await until(async () => (await world.committed()) === 2)
  await before.crash()

  const readable = Promise.withResolvers<void>()
  const from = performance.now()
  const next = await world.route({ readsAfter: readable.promise })
  await world.send(once, { messageId: 'other' })
  await until(async () => (await world.delivered()).includes('other'))
  expect(performance.now() - from).toBeGreaterThanOrEqual(2_000)
  expect(next.loads).toContain('late')
  expect(await world.delivered()).toEqual(['once', 'twice', 'once', 'other'])

  readable.resolve()
  await until(() => next.remembered() === 4)
  await world.send({ messageId: 'twice' }, last)
  await until(async () => (await world.delivered()).includes('last'))
  expect(next.duplicates).toEqual(['twice'])
})
