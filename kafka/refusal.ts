import { ConfigError } from '../config.ts'
import { isUntrusted } from '../pem.ts'

/** What is tried, in this order, on the words of kafkajs, Node, OpenSSL and the broker. */
const ABOUT: readonly [(message: string) => boolean, string][] = [
  [
    (message) => /mechanism is not supported|not support the requested SASL mechanism/.test(message),
    'KAFKA_SASL_MECHANISM',
  ],
  // to a listener without SASL
  [(message) => /current SASL state/.test(message), 'KAFKA_SASL_MECHANISM'],
  // kafkajs calls so also what broke the connection meanwhile
  [
    (message) => /^SASL .+ failed: /.test(message) && !/closed|connection|timed out/i.test(message),
    'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD',
  ],
  [isUntrusted, 'KAFKA_SSL_CA'],
  [(message) => /does not match certificate's altnames/.test(message), 'KAFKA_BROKERS'],
  [
    (message) => /alert (certificate required|bad certificate|unknown ca)/.test(message),
    'KAFKA_SSL_CERT, KAFKA_SSL_KEY',
  ],
  // its user lacks rights (ACLs) on a topic, a group or the cluster
  [(message) => /authorization failed/i.test(message), 'KAFKA_SASL_USERNAME'],
]

/** The settings that a failure to get into Kafka is about. Undefined: about none, so that it may pass. */
export function settingsOf(message: string): string | undefined {
  return ABOUT.find(([says]) => says(message))?.[1]
}

/** What may pass by itself, and then was not about them. */
const MAYBE_ABOUT: typeof ABOUT = [
  // to a listener without TLS, or a broker that is killed just then
  [(message) => /before secure TLS connection was established/.test(message), 'KAFKA_SSL'],
  [(message) => /^Failed to connect to seed broker/.test(message), 'KAFKA_BROKERS'],
]

/** The settings to look at when a failure to get into Kafka does not pass. */
export const settingsToLookAt = (message: string): string | undefined =>
  settingsOf(message) ?? MAYBE_ABOUT.find(([says]) => says(message))?.[1]

/** A refusal that stays as long as the settings do, as one of these; any other error as it is. */
export function asConfigError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : ''
  const settings = settingsOf(message)
  return settings === undefined ? error : new ConfigError([`${settings}: ${message}`])
}
