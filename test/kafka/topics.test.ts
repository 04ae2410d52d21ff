import { describe, expect, test } from 'vitest'
import { onlyCopy, spread, tooShort, wrongPolicy } from '../../kafka/admin/topic-faults.ts'
import { topicNames } from '../../kafka/admin/topics.ts'

const HOUR = 3_600_000

describe('a retention that is too short', () => {
  test('for deliveries that may have to wait longer is reported with the fix', () => {
    expect(tooShort('deliveries', String(HOUR), 28 * HOUR)).toEqual([
      'RETRY_WINDOW: topic deliveries keeps records for 1h (retention.ms=3600000), but deliveries may wait for 28h: the retry window plus a day for outages. ' +
        'Raise it: kafka-configs --bootstrap-server ... --alter --entity-type topics --entity-name deliveries --add-config retention.ms=100800000',
    ])
  })

  test.each([
    ['it is kept for just as long', String(28 * HOUR), 28 * HOUR],
    ['it is kept for ever', '-1', 28 * HOUR],
    ['nothing waits in it', '1', undefined],
    ['Kafka does not say', undefined, 28 * HOUR],
  ])('is no fault when %s', (_why, actual, requiredMs) => {
    expect(tooShort('deliveries', actual, requiredMs)).toBeUndefined()
  })
})

describe('a cleanup policy that would delete what is still needed', () => {
  const command = 'kafka-configs --bootstrap-server ... --alter --entity-type topics --entity-name'

  test('is reported with the fix', () => {
    expect(wrongPolicy('events', 'compact,delete', HOUR)).toEqual([
      `Kafka: topic events is compacted (cleanup.policy=compact,delete): Kafka deletes all but the last record of each key. Fix it: ${command} events --add-config cleanup.policy=delete`,
    ])
    expect(wrongPolicy('config', 'delete', 'compact')).toEqual([
      `Kafka: topic config deletes old records (cleanup.policy=delete), but they are still in force. Fix it: ${command} config --add-config cleanup.policy=compact`,
    ])
  })

  test.each([
    ['delete', HOUR],
    ['compact', 'compact'],
    ['compact,delete', { compact: HOUR }],
    ['delete', { compact: HOUR }],
    [undefined, HOUR],
    [undefined, 'compact'],
  ] as const)('%s is fine for a retention of %j', (actual, retention) => {
    expect(wrongPolicy('x', actual, retention)).toBeUndefined()
  })
})

describe('a topic of one partition that got more', () => {
  test('is reported with the fix if another partition has records', () => {
    const bounds = [
      { partition: 2, high: '1' },
      { partition: 0, high: '7' },
      { partition: 1, high: '0' },
    ]
    expect(spread('config', bounds)).toEqual([
      'Kafka: topic config has records in partition 2, but belongs in partition 0: which record is the newest is unknown. ' +
        'Fix it: delete the topic, start control, and restore a backup (sluice restore)',
    ])
  })

  test('is no fault while they are empty', () => {
    const bounds = [0, 1].map((partition) => ({ partition, high: partition === 0 ? '7' : '0' }))
    expect(spread('config', bounds)).toBeUndefined()
  })
})

test.each([
  { brokers: 1, replication: 1, isTold: false },
  { brokers: 2, replication: 1, isTold: false },
  { brokers: 3, replication: 1, isTold: true },
  { brokers: 5, replication: 1, isTold: true },
  { brokers: 3, replication: 2, isTold: false },
  { brokers: 3, replication: 3, isTold: false },
])('a single replica on three or more brokers is reported: %o', ({ isTold, ...cluster }) => {
  expect(onlyCopy(cluster) !== undefined).toBe(isTold)
})

test('no answer about topics is an outage and is retried, although kafkajs throws a TypeError', async () => {
  // as in kafkajs when its only broker is lost meanwhile
  const listTopics = () => Promise.reject(new TypeError("Cannot destructure property 'topicMetadata'"))
  await expect(topicNames({ listTopics })).rejects.toThrow(new Error('no broker describes its topics'))
  const refused = new Error('Cluster authorization failed')
  await expect(topicNames({ listTopics: () => Promise.reject(refused) })).rejects.toBe(refused)
})
