/**
 * Upstream: no issue; `initProducerId` in src/producer/eosManager/index.js.
 * Without it: kafkajs asks the same broker again and again for a producer id. A broker that has run out of ids asks the
 * active controller. If the controller is silent, the broker answers COORDINATOR_LOAD_IN_PROGRESS for up to 30 s
 * (`controller.socket.timeout.ms`), although other brokers may have ids (docs/decisions/015-cluster.md).
 * Until: test/kafka/producer-ids.test.ts passes without it.
 */
import { replaceInternal } from './internals.ts'

type Broker = { isConnected(): boolean; initProducerId(request: object): Promise<object> }
type Cluster = {
  brokerPool: { brokers: Record<string, Broker> }
  findBroker(of: { nodeId: string }): Promise<Broker>
  /** An idempotent producer asks whichever broker this returns. */
  findControllerBroker(): Promise<Broker>
}
type CreateManager = (options: { cluster: Cluster; transactional: boolean }) => object

replaceInternal<CreateManager>(
  'producer/eosManager',
  (original) => (options) =>
    original(options.transactional ? options : { ...options, cluster: askingAll(options.cluster) }),
)

function askingAll(cluster: Cluster): Cluster {
  const initProducerId = (request: object) => firstId(cluster, request)
  return Object.assign(Object.create(cluster), { findControllerBroker: async () => ({ initProducerId }) })
}

/** Asks connected brokers first: one without a connection may be silent. */
async function firstId(cluster: Cluster, request: object): Promise<object> {
  const brokers = Object.entries(cluster.brokerPool.brokers)
  const connected = brokers.filter(([, broker]) => broker.isConnected())
  const others = brokers.filter((broker) => !connected.includes(broker))
  const failures: unknown[] = []
  for (const [nodeId] of [...connected, ...others])
    try {
      return await (await cluster.findBroker({ nodeId })).initProducerId(request)
    } catch (error) {
      failures.push(error)
    }
  throw failures[0] ?? new Error('Kafka names no broker')
}
