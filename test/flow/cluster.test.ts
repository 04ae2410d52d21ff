import { expect, test } from 'vitest'
import { watchBrokers } from '../../torture/cluster/brokers.ts'
import { startOpenLoad } from '../../torture/cluster/load.ts'
import { ownCluster } from '../helpers/broker.ts'
import { closing } from '../helpers/cluster.ts'
import { deliveredAt } from '../helpers/delivered.ts'
import { aReceiver, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

test('of three brokers the one that leads the most is killed under load: what is accepted is delivered without it', async () => {
  const cluster = await ownCluster()
  const settings = { KAFKA_BROKERS: cluster.brokers, REPLICATION: '3', PARTITIONS: '3' }
  const [system, receiver] = await Promise.all([startSystem(settings).then(closing), aReceiver()])
  const brokers = closing(await watchBrokers(system.connection, cluster))
  await system.destination('crm', [`${receiver.url}/crm`])
  const delivered = deliveredAt(receiver)
  const load = startOpenLoad({ urls: [system.ingest], writeKey: 'shop-write-key', perSecond: 20 })
  await until(() => receiver.arrivals.length > 20)

  const leads = await brokers.leads()
  await cluster.nodes[leads.indexOf(Math.max(...leads))]?.kill()
  const before = load.calls.length
  await until(() => load.calls.slice(before + 20).some(({ messageId }) => delivered('/crm', messageId)), {
    timeout: 30_000,
    message: 'what was made after it was killed is delivered',
  })
  await load.drain()
  const isDelivered = ({ messageId }: { messageId: string }) => delivered('/crm', messageId)
  await until(() => load.calls.every(isDelivered), { timeout: 30_000, message: 'all is delivered' })
  expect(load.calls.every(({ acceptedAt }) => acceptedAt !== undefined)).toBe(true)
}, 120_000)
