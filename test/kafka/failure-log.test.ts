import { expect, test } from 'vitest'
import { createFailureLog, type Failure } from '../../kafka/admin/failures.ts'

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
    /** Fails four times a second for so long; a broker answers meanwhile unless Kafka is away. */
    fail(ms: number, { failure = refused, isAway = false }: { failure?: Failure; isAway?: boolean } = {}) {
      for (const end = now + ms; now < end; now += 250) {
        if (!isAway) log.answered()
        log.add(failure)
      }
    },
  }
}

const away = { isAway: true }

test('what passes within ten seconds is not logged, however often', () => {
  const log = aLog()
  for (let times = 0; times < 5; times++) {
    log.fail(10 * SECOND)
    log.wait(16 * SECOND)
  }
  expect(log.lines).toEqual([])
})

test('what goes on is logged after ten seconds, then each minute with how many were left out', () => {
  const log = aLog()
  log.fail(71 * SECOND)
  expect(log.lines).toMatchObject([
    { level: 'warn', text: 'connect ECONNREFUSED 127.0.0.1:9092', seconds: 10, suppressed: 40 },
    { level: 'warn', seconds: 70, suppressed: 239 },
  ])
})

test('how long it has gone on is what the caller knows', () => {
  const log = aLog()
  log.wait(MINUTE)
  log.answered()
  log.add({ kind: 'commit', text: 'refused', since: MINUTE - 12 * SECOND })
  expect(log.lines).toMatchObject([{ text: 'refused', seconds: 12 }])
})

test('an outage is one line when no broker has answered for five seconds, and one when one answers again', () => {
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

test('a long outage is said again each minute, whatever fails in it', () => {
  const log = aLog()
  for (let times = 0; times < 100; times++)
    log.fail(SECOND, { ...away, failure: { kind: `${times}`, text: `failure ${times}` } })
  expect(log.lines.map(({ text, seconds }) => [text, seconds])).toEqual([
    ['Kafka cannot be reached', 5],
    ['Kafka cannot be reached', 65],
  ])
})

test('what failed in an outage begins anew behind it', () => {
  const log = aLog()
  log.fail(20 * SECOND, away)
  log.fail(9 * SECOND)
  expect(log.lines).toHaveLength(2)
})

test('a broker that is away while another answers is no outage', () => {
  const log = aLog()
  log.fail(30 * SECOND)
  expect(log.lines.map(({ text }) => text)).toEqual(['connect ECONNREFUSED 127.0.0.1:9092'])
})

test.each([
  ['SASL PLAIN authentication failed: Invalid username', 'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD'],
  ['Not authorized to access topics: [Topic authorization failed]', 'KAFKA_SASL_USERNAME'],
  ['Connection error: unable to verify the first certificate', 'KAFKA_SSL_CA'],
])(
  '%j is logged at once with the setting, also where nobody answers, then once a minute',
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
])('while no broker has ever answered, %j names the setting to look at', (text, settings) => {
  const log = aLog()
  log.fail(6 * SECOND, { ...away, failure: { kind: 'seed', text } })
  expect(log.lines).toMatchObject([{ text: 'Kafka cannot be reached', settings }])
})

test('what is not tried again is logged at once', () => {
  const log = aLog()
  log.add({ kind: 'send', text: 'a send failed', err: new Error('too large'), isFinal: true })
  expect(log.lines).toMatchObject([{ text: 'a send failed', reason: 'too large' }])
})

test('since when brokers answer is not known while none does', () => {
  const log = aLog()
  expect(log.reachableSince()).toBe(0)
  log.wait(SECOND * 6)
  expect(log.reachableSince()).toBeUndefined()
  log.fail(SECOND, away)
  log.answered()
  expect(log.reachableSince()).toBe(7 * SECOND)
})
