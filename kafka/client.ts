import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import type { KafkaConfig as KafkaJsConfig, Kafka as KafkaJsKafka, logCreator, SASLOptions } from 'kafkajs'
import type { Logger } from '../process/log.ts'
import { ConfigError, readCertificates, readPem } from '../process/pem.ts'
import { createFailureLog, type FailureLog } from './admin/failures.ts'
import { joinUntilJoined } from './patches/coordinator-loading.ts'
import { followMoves } from './patches/coordinator-moves.ts'
import { adaptFetchWaits } from './patches/fetch-wait.ts'
import { restWithoutRequests } from './patches/idle-requests.ts'
import { Kafka, logLevel } from './patches/kafkajs.ts'
import { watchLogs } from './patches/log-watch.ts'
import { measureSpans } from './patches/monotonic-clock.ts'
import { encodeOurselves } from './patches/produce-request.ts'
import { succeedKilled } from './patches/stale-members.ts'
import { closeUnanswered, onAnswer } from './patches/unanswered.ts'

measureSpans()
encodeOurselves()
joinUntilJoined()
followMoves()
closeUnanswered()
succeedKilled()
adaptFetchWaits()
watchLogs()
restWithoutRequests()

/** How to reach the cluster, and what topics are created with. `ssl`: true for Node's own roots, or paths of PEM files. */
export type KafkaConfig = {
  brokers: string[]
  ssl: boolean | Record<'caFile' | 'certFile' | 'keyFile', string | undefined>
  sasl:
    | { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string }
    | undefined
  /** Before every topic and group. */
  topicPrefix: string
  partitions: number
  replication: number
}

/** A client of one cluster; topics and groups are named without the prefix everywhere but here. */
export type Connection = {
  kafka: KafkaJsKafka
  /** @returns the name on the broker of a topic or group. */
  named(name: string): string
  /** @returns the name in this code of a topic on the broker. */
  plain(name: string): string
  log: Logger
  /** Where what Kafka does not do is logged. */
  failures: FailureLog
  /** The client id, where no other living process has it. */
  soleClientId?: string | undefined
}

/**
 * @param at `host:port` that this process, and no other on this machine, listens on by the time it consumes.
 * @throws ConfigError when a file of KAFKA_SSL_CA, _CERT or _KEY is not as it should be.
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
    // bounded waits: after an outage of any length, and after a leader has moved, sends go on half a second later
    retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 30 },
    connectionTimeout: 3_000,
    // as long as a broker's machine may be lost without a word before it counts as gone
    requestTimeout: 10_000,
  }
  return {
    kafka: new Kafka(config.sasl ? { ...options, sasl: sasl(config.sasl) } : options),
    named: (name) => prefix + name,
    plain: (name) => name.slice(prefix.length),
    log,
    failures,
    soleClientId: at && clientId,
  }
}

// one mechanism of a union, as kafkajs types it: the setting's validation allows no other
const sasl = (given: NonNullable<KafkaConfig['sasl']>) => given as SASLOptions

/** While Kafka is away kafkajs's disconnects take half a minute; a process that ends has not that long. */
export const CLOSE_MS = 2_000

/** Waits for something that may fail, at most so long. */
export async function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => undefined), sleep(limitMs, undefined, { ref: false })])
}

/**
 * kafkajs retries what it logs as errors: they are failures, of which the failure log makes few lines. All else, its notices of each pause
 * among it, is for debugging.
 */
function forwardTo(log: Logger, failures: FailureLog): logCreator {
  return () =>
    ({ namespace, level, log: { message, timestamp: _, ...fields } }) => {
      // kafkajs also passes errors for messages
      const said = String(message)
      const { error = '', broker } = fields as { error?: string; broker?: string }
      const text = `${namespace}: ${said}`
      log.debug(fields, text)
      if (level !== logLevel.ERROR || expected.test(`${said} ${error}`)) return
      const kind = `${namespace} ${error || said.replaceAll(/\d+/g, '')}`
      failures.add({ kind, text, err: error || said, ...(broker && { fields: { broker } }) })
    }
}

/** What a coordinator answers while it loads, and members to each other in a rebalance: retried, and no news. */
const expected = /coordinator|rebalanc/i

/** What TLS to the brokers takes of the files that settings name. @throws ConfigError naming the setting that is wrong. */
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
    const why = error instanceof Error ? error.message : error
    throw new ConfigError([
      `KAFKA_SSL_CERT, KAFKA_SSL_KEY: they make no pair in PEM without passphrase: ${why}`,
    ])
  }
  return options
}
