import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, expect, inject, test } from 'vitest'
import { readConfig } from '../../config.ts'
import { connect } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { createLog } from '../../process/log.ts'
import { prepareKafka } from '../../schemas/prepare-kafka.ts'
import { CONFIG } from '../../settings/settings.ts'
import { type Control, startControl } from '../control/process.ts'
import { rawTopic, removeSubjects, removeTopics } from '../control/topic.ts'
import { recordBefore } from '../helpers/config-keys.ts'
import { aDestination } from '../helpers/events.ts'
import { until } from '../helpers/until.ts'

const topicPrefix = `t${randomUUID().slice(0, 8)}.`
const [old, fresh] = [randomBytes(32), randomBytes(32)]
const place = { kafkaBrokers: inject('kafkaBrokers'), registryUrl: inject('registryUrl'), topicPrefix }
const env = {
  KAFKA_BROKERS: place.kafkaBrokers,
  SCHEMA_REGISTRY_URL: place.registryUrl,
  TOPIC_PREFIX: topicPrefix,
  CONFIG_KEY: old.toString('base64'),
  PARTITIONS: '1',
}
const config = readConfig(env, 'router')
const connection = connect(config.kafka, {
  clientId: 'test',
  log: createLog({ role: 'start', level: 'silent' }),
})
const stamp = { version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
const shop = { id: 'shop', name: 'Shop', writeKey: 'write-key-of-the-shop', enabled: true, ...stamp }
const suppression = { id: 's1', sourceId: '*', userId: 'u1', ...stamp }
const crm = aDestination({
  id: 'crm',
  sharedSecret: 'secret-of-crm',
  webhooks: [{ url: 'https://crm.example', headers: { 'X-Team': 'header-of-crm' } }],
})

afterAll(async () => {
  await removeTopics(connection)
  await removeSubjects(connection, place.registryUrl)
})

async function during<T>(
  settings: Record<string, string>,
  work: (control: Control) => Promise<T>,
): Promise<T> {
  const control = startControl({ ...place, key: old, settings })
  try {
    await control.ready()
    return await work(control)
  } finally {
    await control.stop()
  }
}

const resealed = (control: Control, count: number) =>
  until(
    () =>
      control.lines.some((line) => line.includes(`"settings":${count},`) && line.includes('sealed again')),
    {
      message: () => `${count} settings are sealed again:\n${control.lines.join('\n')}`,
    },
  )
const secretOf = async (control: Control) => (await control.ask('GET', '/api/sources/shop')).json.writeKey
const texts = async () => [...(await rawTopic(connection)).values()]

test('settings of an earlier version stop a start until they are accepted once; then control signs them', async () => {
  await prepareKafka(connection, config, () => undefined)
  const producer = await createProducer(connection)
  const before = Object.entries({
    'source/shop': shop,
    'destination/crm': crm,
    'suppression/s1': suppression,
  })
  const records = before.map(([key, record]) => ({
    topic: CONFIG,
    key,
    value: recordBefore(key, record, old),
  }))
  expect(await producer.produce([...records, { topic: CONFIG, key: 'audience/garbage', value: '{' }])).toBe(
    'acked',
  )
  await producer.close()

  const refusing = startControl({ ...place, key: old })
  expect(await refusing.exited).toMatchObject({ code: 2 })
  expect(refusing.lines.join('\n')).toMatch(/UNSIGNED_SETTINGS: .* have no signature.*set it to accept/)
  expect((await texts()).join()).not.toContain('"mac"')

  await during({ UNSIGNED_SETTINGS: 'accept' }, (control) => resealed(control, 3))
  const written = await rawTopic(connection)
  expect(written.get('audience/garbage')).toBe('{')
  for (const [key, record] of before) {
    expect(written.get(key)).toMatch(/"mac":"[\w-]{43}"\}$/)
    expect(written.get(key)).not.toMatch(/"sealed:/)
    // nothing else has changed
    expect(written.get(key)).toContain(`"version":${record.version},"updatedAt":"${record.updatedAt}"`)
  }
  await during({}, async (control) => expect(await secretOf(control)).toBe(shop.writeKey))
})

test('after a start with both keys, new key first, the new key alone is enough', async () => {
  const both = [fresh, old].map((each) => each.toString('base64')).join()
  await during({ CONFIG_KEY: both }, (control) => resealed(control, 3))
  await during({ CONFIG_KEY: fresh.toString('base64') }, async (control) => {
    expect(await secretOf(control)).toBe(shop.writeKey)
    const { json } = await control.ask('GET', '/api/status')
    expect(json.problems).toMatchObject([{ setting: { id: 'garbage' } }])
    expect(control.lines.join('\n')).not.toContain('anew')
  })
})
