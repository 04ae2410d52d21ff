import { expect, test } from 'vitest'
import { watchBrokers } from '../../torture/cluster/brokers.ts'
import { startOpenLoad } from '../../torture/cluster/load.ts'
import { ownCluster } from '../helpers/broker.ts'
import { closing } from '../helpers/cluster.ts'
import { deliveredAt } from '../helpers/delivered.ts'
import { aReceiver, startSystem } from '../helpers/system.ts'
import { until } from '../helpers/until.ts'

test('of three brokers the one that leads the most says nothing, and another time is killed, under load: what is accepted is delivered without it', async () => {
  const cluster = await ownCluster()
  const settings = { KAFKA_BROKERS: cluster.brokers, REPLICATION: '3', PARTITIONS: '3' }
  const [system, receiver] = await Promise.all([startSystem(settings).then(closing), aReceiver()])
  const brokers = closing(await watchBrokers(system.connection, cluster))
  await system.destination('crm', [`${receiver.url}/crm`])
  const delivered = deliveredAt(receiver)
  const isDelivered = ({ messageId }: { messageId: string }) => delivered('/crm', messageId)
  const load = startOpenLoad({ urls: [system.ingest], writeKey: 'shop-write-key', perSecond: 20 })
  await until(() => load.calls.length > 20 && load.calls.slice(0, 20).every(isDelivered))
  const leader = async () => {
    const leads = await brokers.leads()
    const node = cluster.nodes[leads.indexOf(Math.max(...leads))]
    if (!node) throw new Error('nobody leads')
    return node
  }
  const goesOn = async () => {
    const before = load.calls.length
    const later = () => load.calls.slice(before + 20, before + 40)
    await until(() => later().length === 20 && later().every(isDelivered), {
      message: 'what is made without it is delivered',
    })
  }

  const silent = await leader()
  process.kill(silent.pid, 'SIGSTOP')
  await goesOn()
  process.kill(silent.pid, 'SIGCONT')
  await brokers.inSync()

  await (await leader()).kill()
  await goesOn()
  await load.drain()
  await until(() => load.calls.every(isDelivered), { message: 'all is delivered' })
  expect(load.calls.every(({ acceptedAt }) => acceptedAt !== undefined)).toBe(true)
}, 120_000)
