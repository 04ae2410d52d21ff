import { readFile } from 'node:fs/promises'
import { GenericContainer, getContainerRuntimeClient, Network, Wait } from 'testcontainers'
import { freePort } from '../../local/ports.ts'

// The broker and registry of docker-compose.yml in containers, for machines with an engine but no Java. `ops/image/try.sh` tests
// this with its own copy of that file.
const COMPOSE = process.env.TRY_COMPOSE_FILE ?? new URL('../../docker-compose.yml', import.meta.url)
const INSIDE = 'kafka:19092'

/** Undefined when no container engine answers. */
export async function startContainers(ensureJournal: (brokers: string) => Promise<void>) {
  const engine = await getContainerRuntimeClient().catch(() => undefined)
  if (!engine) return undefined
  const compose = await readFile(COMPOSE, 'utf8')
  const image = (name: string) => new RegExp(`^ *image: (${name}:.*)$`, 'm').exec(compose)?.[1] ?? name
  const network = await new Network().start()
  const port = await freePort()
  const brokers = `127.0.0.1:${port}`
  const kafka = await new GenericContainer(image('apache/kafka'))
    .withNetwork(network)
    .withNetworkAliases('kafka')
    .withExposedPorts({ container: 9092, host: port })
    .withEnvironment(kafkaEnvironment(brokers))
    .withWaitStrategy(Wait.forLogMessage('Kafka Server started'))
    .start()
  await ensureJournal(brokers)
  const registry = await new GenericContainer(image('apicurio/apicurio-registry'))
    .withNetwork(network)
    .withExposedPorts(8080)
    .withEnvironment({
      APICURIO_STORAGE_KIND: 'kafkasql',
      APICURIO_KAFKASQL_BOOTSTRAP_SERVERS: INSIDE,
      APICURIO_KAFKASQL_CONSUMER_POLL_TIMEOUT: '200',
    })
    .withWaitStrategy(Wait.forHttp('/apis/ccompat/v7/subjects', 8080))
    .start()
  return {
    brokers,
    registryUrl: `http://${registry.getHost()}:${registry.getMappedPort(8080)}/apis/ccompat/v7`,
    stop: async () => {
      await Promise.all([registry.stop(), kafka.stop()])
      await network.stop()
    },
  }
}

const kafkaEnvironment = (brokers: string) => ({
  KAFKA_NODE_ID: '1',
  KAFKA_PROCESS_ROLES: 'broker,controller',
  KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
  KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
  KAFKA_LISTENERS: 'OUTSIDE://:9092,INSIDE://:19092,CONTROLLER://:9093',
  KAFKA_ADVERTISED_LISTENERS: `OUTSIDE://${brokers},INSIDE://${INSIDE}`,
  KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT',
  KAFKA_INTER_BROKER_LISTENER_NAME: 'INSIDE',
  KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
  KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
  KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
  KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR: '1',
  KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR: '1',
  KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
  KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
})
