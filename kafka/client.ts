import { EventEmitter } from 'node:events'
import { hostname } from 'node:os'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import type { KafkaConfig as KafkaJsConfig, Kafka as KafkaJsKafka, logCreator, SASLOptions } from 'kafkajs'
import { ConfigError } from '../process/config-error.ts'
import type { Logger } from '../process/log.ts'
import { readCertificates, readPem } from '../process/pem.ts'
import { messageOf } from '../process/thrown.ts'
import { createFailureLog, type FailureLog } from './admin/failures.ts'
import { Kafka, logLevel } from './patches/kafkajs.ts'
import { onAnswer } from './patches/network/unanswered.ts'

/** `ssl`: true for Node's own roots, or PEM files. */
export type KafkaConfig = {
  brokers: string[]
  ssl: boolean | Record<'caFile' | 'certFile' | 'keyFile', string | undefined>
  sasl:
    | { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string }
    | undefined
  /** Of all topics and groups. */
  topicPrefix: string
  partitions: number
  replication: number
}

/** Outside `kafka/`, topics and groups have no prefix. */
export type Connection = {
  kafka: KafkaJsKafka
  /** Adds the prefix. */
  named(name: string): string
  /** Removes the prefix. */
  plain(name: string): string
  log: Logger
  failures: FailureLog
  /** A consumer has noticed that a partition has another leader, or that its leader has restarted. */
  elections: EventEmitter<{ election: [] }>
  /** Undefined if another process may have the client id. */
  soleClientId?: string | undefined
}

/**
 * @param at `host:port` on which only this process listens when it consumes.
 * @throws ConfigError when a file of KAFKA_SSL_CA, _CERT or _KEY is unusable.
 */
export function connect(
  config: KafkaConfig,
  { clientId: role, at, log }: { clientId: string; at?: string | undefined; log: Logger },
): Connection {
  const clientId = at === undefined ? role : `${role}/${hostname()}/${at}`
  const prefix = config.topicPrefix
  const failures = createFailureLog(log)
  onAnswer(failures.answered)
  const options: KafkaJsConfig = {
    clientId,
    brokers: config.brokers,
    ssl: tlsOptions(config.ssl),
    logLevel: logLevel.INFO,
    logCreator: forwardTo(log, failures),
    // sends resume within half a second of an outage or a leader's move
    retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 30 },
    connectionTimeout: 3_000,
    // a broker whose machine vanishes counts as gone after this
    requestTimeout: 10_000,
  }
  return {
    kafka: new Kafka(config.sasl ? { ...options, sasl: sasl(config.sasl) } : options),
    named: (name) => prefix + name,
    plain: (name) => name.slice(prefix.length),
    log,
    failures,
    elections: new EventEmitter<{ election: [] }>().setMaxListeners(0),
    soleClientId: at && clientId,
  }
}

// kafkajs has a type for each mechanism
const sasl = (given: NonNullable<KafkaConfig['sasl']>) => given as SASLOptions

/** While Kafka is unreachable, kafkajs takes half a minute to disconnect. */
export const CLOSE_MS = 2_000

/** For each request of a consumer. When they are used up, the consumer crashes and restarts. */
export const CONSUMER_RETRIES = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 20 }

/** kafkajs retries what it logs as errors. The rest is for debugging. */
function forwardTo(log: Logger, failures: FailureLog): logCreator {
  return () =>
    ({ namespace, level, log: { message, timestamp: _, ...fields } }) => {
      // kafkajs passes some errors as messages
      const text = String(message)
      const { error = '', broker } = fields as { error?: string; broker?: string }
      const line = `${namespace}: ${text}`
      log.debug(fields, line)
      if (level !== logLevel.ERROR || expected.test(`${text} ${error}`)) return
      const err = error || text
      // connections and consumers report it too, several times per attempt
      if (NO_TOPIC.test(`${text} ${error}`))
        return failures.add({ kind: NO_TOPIC_TEXT, text: NO_TOPIC_TEXT, err })
      const kind = `${namespace} ${error || text.replaceAll(/\d+/g, '')}`
      failures.add({ kind, text: line, err, ...(broker && { fields: { broker } }) })
    }
}

/** Normal and retried. The restart follows a crash that was logged. */
const expected = /coordinator|rebalanc|^Restarting the consumer/i
const NO_TOPIC = /does not host this topic-partition/
const NO_TOPIC_TEXT = 'Kafka lacks a topic that this process uses'

/** @throws ConfigError. */
export function tlsOptions(ssl: KafkaConfig['ssl']): ConnectionOptions | boolean | false {
  if (typeof ssl === 'boolean') return ssl
  const options = {
    ...(ssl.caFile && { ca: readCertificates('KAFKA_SSL_CA', ssl.caFile) }),
    ...(ssl.certFile && { cert: readCertificates('KAFKA_SSL_CERT', ssl.certFile) }),
    ...(ssl.keyFile && { key: readPem('KAFKA_SSL_KEY', ssl.keyFile) }),
  }
  try {
    createSecureContext(options)
  } catch (error) {
    const why = messageOf(error)
    throw new ConfigError([
      `KAFKA_SSL_CERT, KAFKA_SSL_KEY: not a matching pair in PEM without passphrase: ${why}`,
    ])
  }
  return options
}
