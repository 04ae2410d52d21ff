import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProducer } from '../../kafka/produce/produce.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { DELIVERIES, rungTopic } from '../../schemas/topics.ts'
import { closing, lag } from '../helpers/cluster.ts'
import { aDelivery } from '../helpers/events.ts'
import { aReceiver, type System, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

const PARTITIONS = 4
let sluice: System

beforeAll(async () => {
  sluice = await startSystem({ PARTITIONS: String(PARTITIONS), RETRY_LADDER: '100ms' }, [
    'control',
    'router',
    'deliverer',
  ])
}, 120_000)
afterAll(async () => void (await sluice?.close()))

async function fill(rung: string): Promise<void> {
  const { connection, env } = sluice
  const registry = openRegistry({ url: env.SCHEMA_REGISTRY_URL ?? '', auth: undefined })
  const { encode } = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const producer = closing(await createProducer(connection))
  const records = Array.from({ length: PARTITIONS }, (_, partition) => ({
    topic: rungTopic(rung),
    partition,
    key: 'crm/u1',
    value: encode(aDelivery({ deliveryId: `${rung}/${partition}`, messageId: `${rung}/${partition}` })),
    headers: { dueAt: String(Date.now()) },
  }))
  expect(await producer.produce(records)).toBe('acked')
}

test('records on a rung that only another deliverer defines are read from all partitions while both run', async () => {
  const receiver = await aReceiver()
  await sluice.destination('crm', [receiver.url])
  const came = () => receiver.arrivals.map(({ headers }) => headers['x-message-id']).toSorted()
  const all = (rung: string) => Array.from({ length: PARTITIONS }, (_, partition) => `${rung}/${partition}`)

  // the second creates the rung, after the first has started
  const other = await sluice.another('deliverer', { RETRY_LADDER: '300ms' })
  await fill('300ms')
  await until(() => came().length === PARTITIONS, { timeout: 40_000, message: () => `there came ${came()}` })
  expect(came()).toEqual(all('300ms'))

  // both read the first one's rung, also after the second has ended
  await fill('100ms')
  await until(() => came().length === 2 * PARTITIONS, { message: () => `there came ${came()}` })
  expect(await other.stop()).toBe(0)
  await fill('300ms')
  await until(() => came().length === 3 * PARTITIONS, {
    timeout: 40_000,
    message: () => `there came ${came()}`,
  })
  for (const rung of ['100ms', '300ms']) {
    const of = { group: 'deliverer.rungs', topic: rungTopic(rung) }
    await until(async () => (await lag(sluice.connection, of)) === 0, { message: `${rung} is committed` })
  }
}, 180_000)
