import { expect, test } from 'vitest'
import { asConfigError, settingsOf, settingsToLookAt } from '../../kafka/admin/failures.ts'
import { ConfigError } from '../../process/pem.ts'

test.each([
  ['SASL SCRAM-SHA-256 mechanism is not supported by the server', 'KAFKA_SASL_MECHANISM'],
  ['The broker does not support the requested SASL mechanism', 'KAFKA_SASL_MECHANISM'],
  ['Request is not valid given the current SASL state', 'KAFKA_SASL_MECHANISM'],
  [
    'SASL PLAIN authentication failed: Authentication failed: Invalid username or password',
    'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD',
  ],
  ['Not authorized to access topics: [Topic authorization failed]', 'KAFKA_SASL_USERNAME'],
  ['Connection error: self-signed certificate in certificate chain', 'KAFKA_SSL_CA'],
  ['Connection error: unable to get local issuer certificate', 'KAFKA_SSL_CA'],
  [
    "Connection error: Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ",
    'KAFKA_BROKERS',
  ],
  [
    'Connection error: 00D1:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:',
    'KAFKA_SSL_CERT, KAFKA_SSL_KEY',
  ],
])('%j stays as long as %s says what it says', (message, settings) => {
  expect(settingsOf(message)).toBe(settings)
  expect(asConfigError(new Error(message))).toEqual(new ConfigError([`${settings}: ${message}`]))
})

test.each([
  'SASL PLAIN authentication failed: Closed connection',
  'SASL SCRAM SHA512 authentication failed: Request SaslAuthenticate(key: 36, version: 1) timed out',
  'Connection error: connect ECONNREFUSED 127.0.0.1:9092',
  'Connection timeout',
])('%j may pass', (message) => {
  const error = new Error(message)
  expect(settingsOf(message)).toBeUndefined()
  expect(asConfigError(error)).toBe(error)
})

test.each([
  [
    'Connection error: Client network socket disconnected before secure TLS connection was established',
    'KAFKA_SSL',
  ],
  [
    'Failed to connect to seed broker, trying another broker from the list: Connection error: connect ECONNREFUSED 127.0.0.1:9092',
    'KAFKA_BROKERS',
  ],
])('%j may pass, and %s is what to look at when it does not', (message, settings) => {
  expect(settingsOf(message)).toBeUndefined()
  expect(settingsToLookAt(message)).toBe(settings)
})
