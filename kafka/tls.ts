import { type ConnectionOptions, createSecureContext } from 'node:tls'
import { ConfigError, type KafkaConfig } from '../config.ts'
import { readCertificates, readPem } from '../pem.ts'

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
