import { afterEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../../config.ts'
import { endTombstone } from '../../control/api/auth/sessions.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import { openRetentions } from '../../kafka/admin/topics.ts'
import type { Connection } from '../../kafka/client.ts'
import { ConfigResourceTypes } from '../../kafka/patches/kafkajs.ts'
import { PARKED } from '../../kafka/produce/park.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { ConfigError } from '../../process/config-error.ts'
import { prepareKafka } from '../../schemas/prepare-kafka.ts'
import { TASKS, topics } from '../../schemas/topics.ts'
import { closing, connection, readAll } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

const HOUR = 3_600_000
const ladder = [{ name: '5s', delayMs: 5_000 }]
// `connection` makes that one itself
const table = topics({ ladder, dedupWindowMs: HOUR, windowMs: 4 * HOUR }).filter(
  ({ name }) => name !== PARKED,
)

/** Resets other settings. Kafka applies the change a moment after its answer. */
async function set(kafka: Connection, topic: string, name: string, value: string): Promise<void> {
  const admin = kafka.kafka.admin()
  await admin.connect()
  const of = { type: ConfigResourceTypes.TOPIC, name: kafka.named(topic) }
  const configEntries = [{ name: 'message.timestamp.before.max.ms', value: String(HOUR) }]
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      { ...of, configEntries: [...configEntries.filter((each) => each.name !== name), { name, value }] },
    ],
  })
  await until(async () => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [of] })
    return resources[0]?.configEntries.some((each) => each.configName === name && each.configValue === value)
  })
  await admin.disconnect()
}

describe('with a clock that is days behind', () => {
  afterEach(() => void vi.useRealTimers())

  test.each(['deliveries', 'deliveries.retry.5s'])(
    'nothing is written to %s, which would delete it before it is due; it waits until the clock is right',
    async (topic) => {
      const kafka = await connection(table)
      const producer = closing(await createProducer(kafka))
      // a new topic has no leader for a moment
      await until(async () => (await readAll(kafka, topic)).length === 0)
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 4 * 24 * HOUR })
      const record = { topic, key: 'k', value: 'by the wrong clock' }
      const patient = producer.produce([record])
      expect(await producer.produce([record], { deadlineMs: 1_500 })).toBe('unknown')
      expect(await readAll(kafka, topic)).toEqual([])
      vi.useRealTimers()
      expect(await patient).toBe('acked')
      // records that nothing waited for, too
      await expect.poll(() => readAll(kafka, topic)).toHaveLength(2)
    },
  )
})

test('with a clock that is over an hour ahead, the end of a session cannot be removed', async () => {
  const kafka = await connection(table)
  const producer = kafka.kafka.producer()
  await producer.connect()
  onTestFinished(() => producer.disconnect())
  const remove = (aheadMs: number) => {
    const { topic, key, timestamp = '' } = endTombstone('abc', Date.now() + aheadMs)
    return producer.send({ topic: kafka.named(topic), messages: [{ key, value: null, timestamp }] })
  }
  await until(async () => (await readAll(kafka, TASKS)).length === 0)
  await expect(remove(HOUR + 60_000)).rejects.toThrow(/timestamp/)
  await remove(HOUR - 60_000)
  expect(await readAll(kafka, TASKS)).toHaveLength(1)
})

describe('at a start', () => {
  const config = readConfig(
    {
      KAFKA_BROKERS: inject('kafkaBrokers'),
      SCHEMA_REGISTRY_URL: inject('registryUrl'),
      CONFIG_KEY: Buffer.alloc(32, 'key 7 of the tests').toString('base64'),
      PARTITIONS: '4',
      RETRY_LADDER: '5s',
    },
    'router',
  )

  async function prepared(
    change?: [topic: string, name: string, value: string] | ((kafka: Connection) => Promise<void>),
  ) {
    const kafka = await connection(table)
    if (typeof change === 'function') await change(kafka)
    else if (change) await set(kafka, ...change)
    const said: string[] = []
    const log = { ...kafka.log, warn: (text: unknown) => void said.push(String(text)) } as Connection['log']
    const fault = await prepareKafka({ ...kafka, log }, config, () => undefined).then(
      () => undefined,
      (error: unknown) => error,
    )
    return { fault, said: said.filter((line) => !line.includes(kafka.named(PARKED))), kafka }
  }

  test.each(['deliveries', 'deliveries.due', 'deliveries.retry.5s'])(
    'a %s with a retention below the retry window plus a day is refused, with advice',
    async (topic) => {
      const { fault, kafka } = await prepared([topic, 'retention.ms', String(27 * HOUR)])
      expect(fault).toBeInstanceOf(ConfigError)
      const { message } = fault as ConfigError
      expect(message).toContain(`RETRY_WINDOW: topic ${kafka.named(topic)} keeps records for 27h`)
      expect(message).toContain(`--entity-name ${kafka.named(topic)} --add-config retention.ms=${28 * HOUR}`)
    },
  )

  test.each([
    ['events', 'compact', 'is compacted'],
    ['config', 'delete', 'deletes old records'],
  ])(
    'topic %s with cleanup.policy=%s, by which Kafka would delete what is needed, is refused',
    async (topic, policy, what) => {
      const { fault, kafka } = await prepared([topic, 'cleanup.policy', policy])
      expect(fault).toBeInstanceOf(ConfigError)
      expect((fault as ConfigError).message).toContain(`topic ${kafka.named(topic)} ${what}`)
    },
  )

  test('a retention that is long enough but differs from the table is named and left unchanged', async () => {
    const { fault, said, kafka } = await prepared(['deliveries', 'retention.ms', String(28 * HOUR)])
    const name = kafka.named('deliveries')
    expect(fault).toBeUndefined()
    expect(said).toEqual([
      `topic differs from the table of topics: ${name}: retention.ms is ${28 * HOUR}, not ${72 * HOUR}`,
    ])
    const retentions = closing(await openRetentions(kafka))
    expect(await retentions.read(['deliveries', 'config'])).toEqual(new Map([['deliveries', 28 * HOUR]]))
  })

  /** @param partition gets a record */
  const grown = (partition: number) => async (kafka: Connection) => {
    const topic = kafka.named('config')
    await withAdmin(kafka, async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] })
      // a client keeps old metadata for minutes
      await until(async () => (await admin.fetchTopicOffsets(topic)).length === 3)
    })
    const producer = closing(await createProducer(kafka))
    expect(await producer.produce([{ topic: 'config', key: 'source/shop', value: '{}', partition }])).toBe(
      'acked',
    )
  }

  test('settings in several partitions are refused, because their order is unknown', async () => {
    const { fault, kafka } = await prepared(grown(2))
    expect(fault).toBeInstanceOf(ConfigError)
    expect((fault as ConfigError).message).toContain(
      `topic ${kafka.named('config')} has records in partition 2, but belongs in partition 0`,
    )
  })

  test('further partitions of the settings do no harm while they are empty', async () => {
    const { fault, said, kafka } = await prepared(grown(0))
    expect(fault).toBeUndefined()
    expect(said).toContain(
      `topic differs from the table of topics: ${kafka.named('config')}: 3 partitions, not 1`,
    )
  })

  test.each([
    ['message.timestamp.before.max.ms', '9223372036854775807', '3600000'],
    ['message.timestamp.after.max.ms', '9223372036854775807', '3600000'],
    ['retention.bytes', '1000000', '-1'],
  ])('an existing topic without %s is named', async (name, is, not) => {
    const { fault, said, kafka } = await prepared(['events', name, is])
    expect(fault).toBeUndefined()
    expect(said).toContain(
      `topic differs from the table of topics: ${kafka.named('events')}: ${name} is ${is}, not ${not}`,
    )
  })
})
