import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  asConfigError,
  asTopicError,
  createFailureLog,
  type Failure,
  settingsOf,
  settingsToLookAt,
  untilBack,
} from '../../kafka/admin/failures.ts'
import { ConfigError } from '../../process/config-error.ts'

afterEach(() => void vi.useRealTimers())

const SECOND = 1_000
const MINUTE = 60 * SECOND

type Line = { level: string; text: string } & Record<string, unknown>

function aLog() {
  let now = 0
  const lines: Line[] = []
  const say = (level: string) => (fields: object, text: string) => void lines.push({ level, text, ...fields })
  const log = createFailureLog(
    { debug: () => undefined, info: say('info'), warn: say('warn') } as never,
    () => now,
  )
  const refused: Failure = { kind: 'connection', text: 'connect ECONNREFUSED 127.0.0.1:9092' }
  return {
    ...log,
    lines,
    wait: (ms: number) => {
      now += ms
    },
    /** Four times a second. A broker answers meanwhile, unless Kafka is away. */
    fail(ms: number, { failure = refused, isAway = false }: { failure?: Failure; isAway?: boolean } = {}) {
      for (const end = now + ms; now < end; now += 250) {
        if (!isAway) log.answered()
        log.add(failure)
      }
    },
  }
}

const away = { isAway: true }

test('failures that pass within ten seconds are not logged, however often', () => {
  const log = aLog()
  for (let times = 0; times < 5; times++) {
    log.fail(10 * SECOND)
    log.wait(16 * SECOND)
  }
  expect(log.lines).toEqual([])
})

test('a lasting failure is logged after ten seconds, then each minute with the number of suppressed ones', () => {
  const log = aLog()
  log.fail(71 * SECOND)
  expect(log.lines).toMatchObject([
    { level: 'warn', text: 'connect ECONNREFUSED 127.0.0.1:9092', seconds: 10, suppressed: 40 },
    { level: 'warn', seconds: 70, suppressed: 239 },
  ])
})

test('the caller may say when the failures began', () => {
  const log = aLog()
  log.wait(MINUTE)
  log.answered()
  log.add({ kind: 'commit', text: 'refused', since: MINUTE - 12 * SECOND })
  expect(log.lines).toMatchObject([{ text: 'refused', seconds: 12 }])
})

test('a failure that the caller says began before an outage starts over after it', () => {
  const log = aLog()
  log.fail(20 * SECOND, away)
  log.fail(9 * SECOND, { failure: { kind: 'commit', text: 'refused', since: 0 } })
  expect(log.lines.map(({ text }) => text)).toEqual(['Kafka cannot be reached', 'Kafka can be reached again'])
})

test('an outage is one line after five seconds without an answer, and one when a broker answers again', () => {
  const log = aLog()
  log.answered()
  log.fail(20 * SECOND, away)
  log.wait(SECOND)
  log.answered()
  log.answered()
  expect(log.lines).toEqual([
    {
      level: 'warn',
      text: 'Kafka cannot be reached',
      reason: 'connect ECONNREFUSED 127.0.0.1:9092',
      seconds: 5,
      suppressed: 0,
    },
    { level: 'info', text: 'Kafka can be reached again', seconds: 21, suppressed: 58 },
  ])
})

test('a long outage is logged each minute, whatever fails in it', () => {
  const log = aLog()
  for (let times = 0; times < 100; times++)
    log.fail(SECOND, { ...away, failure: { kind: `${times}`, text: `failure ${times}` } })
  expect(log.lines.map(({ text, seconds }) => [text, seconds])).toEqual([
    ['Kafka cannot be reached', 5],
    ['Kafka cannot be reached', 65],
  ])
})

test('failures start over after an outage', () => {
  const log = aLog()
  log.fail(20 * SECOND, away)
  log.fail(9 * SECOND)
  expect(log.lines).toHaveLength(2)
})

test('one broker that is down while another answers is not an outage', () => {
  const log = aLog()
  log.fail(30 * SECOND)
  expect(log.lines.map(({ text }) => text)).toEqual(['connect ECONNREFUSED 127.0.0.1:9092'])
})

test.each([
  ['SASL PLAIN authentication failed: Invalid username', 'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD'],
  ['Not authorized to access topics: [Topic authorization failed]', 'KAFKA_SASL_USERNAME'],
  ['Connection error: unable to verify the first certificate', 'KAFKA_SSL_CA'],
])(
  '%j is logged at once with the setting, even when no broker answers, then once a minute',
  (text, settings) => {
    const log = aLog()
    log.fail(61 * SECOND, { ...away, failure: { kind: 'refused', text } })
    expect(log.lines).toMatchObject([
      { text, settings, seconds: 0 },
      { text, settings, seconds: 60 },
    ])
  },
)

test.each([
  ['connect ECONNREFUSED 127.0.0.1:9092', 'KAFKA_BROKERS'],
  ['Client network socket disconnected before secure TLS connection was established', 'KAFKA_SSL'],
])('before any broker has answered, %j names the setting to check', (text, settings) => {
  const log = aLog()
  log.fail(6 * SECOND, { ...away, failure: { kind: 'seed', text } })
  expect(log.lines).toMatchObject([{ text: 'Kafka cannot be reached', settings }])
})

test('a failure that is not retried is logged at once', () => {
  const log = aLog()
  log.add({ kind: 'send', text: 'a send failed', err: new Error('too large'), isFinal: true })
  expect(log.lines).toMatchObject([{ text: 'a send failed', reason: 'too large' }])
})

test('reachableSince is undefined while no broker answers', () => {
  const log = aLog()
  expect(log.reachableSince()).toBe(0)
  log.wait(SECOND * 6)
  expect(log.reachableSince()).toBeUndefined()
  log.fail(SECOND, away)
  log.answered()
  expect(log.reachableSince()).toBe(7 * SECOND)
})

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
])('%j lasts until %s is corrected', (message, settings) => {
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
])('%j may pass; if not, check %s', (message, settings) => {
  expect(settingsOf(message)).toBeUndefined()
  expect(settingsToLookAt(message)).toBe(settings)
})

test('the error for topics that cannot be created names them and the reason', () => {
  const topicError = (topic: string, message: string) => Object.assign(new Error(message), { topic })
  const errors = [
    topicError('config', 'Replication-factor is invalid'),
    topicError('tasks', 'Number of partitions is invalid'),
    topicError('events', 'Replication-factor is invalid'),
  ]
  const error = Object.assign(new Error('Topic creation errors'), { errors })
  expect(asTopicError(error)).toMatchObject({
    message:
      'Kafka did not create topics: Replication-factor is invalid (config, events); Number of partitions is invalid (tasks)',
    cause: error,
  })
  const other = new Error('Connection timeout')
  expect(asTopicError(other)).toBe(other)
})

describe('a step of a start, while Kafka refuses connections', () => {
  /** A try takes 15 s, as in kafkajs. */
  function startWhileAway(ms: number) {
    vi.useFakeTimers()
    const back = performance.now() + ms
    return untilBack(async () => {
      if (performance.now() >= back) return 'connected'
      await new Promise((resolve) => setTimeout(resolve, 15 * SECOND))
      throw new Error('connect ECONNREFUSED 127.0.0.1:9092')
    })
  }

  test('succeeds if Kafka is back after a minute and a half', async () => {
    const started = startWhileAway(90 * SECOND)
    await vi.advanceTimersByTimeAsync(2 * MINUTE)
    await expect(started).resolves.toBe('connected')
  })

  test('fails after three minutes', async () => {
    const outcome = expect(startWhileAway(10 * MINUTE)).rejects.toThrow('ECONNREFUSED')
    await vi.advanceTimersByTimeAsync(3 * MINUTE)
    await outcome
  })
})
