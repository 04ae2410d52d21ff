import { createTopics } from '../kafka/admin/topics.ts'
import { connect, type KafkaConfig } from '../kafka/client.ts'
import { createLog, type Logger } from '../process/log.ts'

/** The registry's store, kept for ever: a registry that creates it itself forgets its schemas after 7 days. */
export async function ensureJournal(kafka: KafkaConfig, log: Logger): Promise<void> {
  const config = { ...kafka, topicPrefix: '' } // the registry knows nothing of prefixes
  const connection = connect(config, { clientId: 'sluice-start', log })
  const journal = { name: 'kafkasql-journal', partitions: 1, retention: -1 } as const
  const { differences } = await createTopics(connection, [journal], config)
  for (const line of differences) log.warn(`topic differs: ${line}`)
}

/** The same on brokers that a run of tests or benches has for itself, with a copy on each. */
export function ensureOwnJournal(list: string): Promise<void> {
  const brokers = list.split(',')
  const alone = {
    brokers,
    ssl: false,
    sasl: undefined,
    topicPrefix: '',
    partitions: 1,
    replication: brokers.length,
  }
  return ensureJournal(alone, createLog({ role: 'start', level: 'silent' }))
}
