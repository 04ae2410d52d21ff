export type Voter = { id: number; controllerPort: number }

export type BrokerProperties = {
  nodeId: number
  port: number
  /** All controllers of the cluster, this one among them. */
  voters: readonly Voter[]
  dataFolder: string
  /** Further ones, or others than ours. */
  more?: Readonly<Record<string, string>> | undefined
}

const HOST = '127.0.0.1'

/** The text of `server.properties`: one KRaft node, broker and controller in one, on loopback only. */
export function brokerProperties({ nodeId, port, voters, dataFolder, more }: BrokerProperties): string {
  const copies = voters.length
  const inSync = Math.max(1, copies - 1)
  const controllerPort = voters.find((voter) => voter.id === nodeId)?.controllerPort
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': nodeId,
    'controller.quorum.voters': voters
      .map((voter) => `${voter.id}@${HOST}:${voter.controllerPort}`)
      .join(','),
    listeners: `PLAINTEXT://${HOST}:${port},CONTROLLER://${HOST}:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${HOST}:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': dataFolder,
    'auto.create.topics.enable': false,
    'default.replication.factor': copies,
    'min.insync.replicas': inSync,
    ...internalTopic('offsets.topic', copies),
    ...internalTopic('transaction.state.log', copies),
    'transaction.state.log.min.isr': inSync,
    ...internalTopic('share.coordinator.state.topic', copies),
    'share.coordinator.state.topic.min.isr': inSync,
    // after kill -9 it may not register again before its old session is over; by default that takes 9 s
    'broker.session.timeout.ms': 2_000,
    'broker.heartbeat.interval.ms': 200,
    // a group of one starts at once
    'group.initial.rebalance.delay.ms': 0,
    // the default takes 128 MB of heap
    'log.cleaner.dedupe.buffer.size': 2_097_152,
    // a partition's two indexes have their whole size from the first record on; of the default's 10 MB that took 40 ms of CPU each time
    'log.index.size.max.bytes': 1_048_576,
    ...more,
  }
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`
}

function internalTopic(name: string, copies: number): Record<string, number> {
  return { [`${name}.replication.factor`]: copies, [`${name}.num.partitions`]: 4 }
}
