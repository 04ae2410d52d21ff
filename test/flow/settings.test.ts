import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import { followSettings, type Settings } from '../../settings/follow.ts'
import { sealRecord } from '../../settings/seal.ts'
import { CONFIG } from '../../settings/settings.ts'
import { closing, connection } from '../helpers/cluster.ts'
import { keysOf } from '../helpers/config-keys.ts'
import { aDestination } from '../helpers/events.ts'
import { until } from '../helpers/until.ts'

const [old, fresh] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const topics = [{ name: CONFIG, partitions: 1 as const, retention: 'compact' as const }]

async function write(kafka: Connection, key: Buffer, more: object): Promise<void> {
  const producer = await createProducer(kafka)
  const owner = 'destination/crm'
  const value = sealRecord(owner, aDestination(more), keysOf(key))
  expect(await producer.produce([{ topic: CONFIG, key: owner, value }])).toBe('acked')
  await producer.close()
}

async function follow(kafka: Connection, keys: Buffer[]): Promise<{ settings: Settings; faults: string[] }> {
  const faults: string[] = []
  const settings = closing(
    await followSettings({
      connection: kafka,
      keys: keysOf(...keys),
      onFatal: (error) => void faults.push(error.message),
    }),
  )
  await settings.loaded
  return { settings, faults }
}

test('after a rotation the new key alone is enough, although old records of the topic were sealed with the old key', async () => {
  const kafka = await connection(topics)
  await write(kafka, old, { sharedSecret: 'before' })
  await write(kafka, fresh, { sharedSecret: 'after' })
  const { settings, faults } = await follow(kafka, [fresh])
  expect([faults, settings.destinations.get('crm')?.sharedSecret]).toEqual([[], 'after'])
})

test('a start with a key that opens no record is refused and names the first record, without its secret', async () => {
  const kafka = await connection(topics)
  await write(kafka, old, { sharedSecret: 's3cret' })
  const error = await follow(kafka, [fresh]).catch((reason: Error) => reason)
  expect(String(error)).toContain(
    'CONFIG_KEY: does not fit destination/crm: it is not signed with any key in CONFIG_KEY',
  )
  expect(String(error)).not.toContain('s3cret')
})

test('an unreadable record is logged, and its last readable version stays in use until it is replaced or removed', async () => {
  const kafka = await connection(topics)
  await write(kafka, old, { sharedSecret: 'good' })
  const { settings, faults } = await follow(kafka, [old])
  await write(kafka, fresh, { sharedSecret: 's3cret' })
  const shown = { kind: 'destination', id: 'crm', isKept: true, since: expect.any(Number) }
  await until(() => settings.unreadable.size === 1)
  expect(settings.unreadable.get('destination/crm')).toEqual({
    ...shown,
    reason: 'it is not signed with any key in CONFIG_KEY',
  })
  expect(await settings.destination('crm')).toMatchObject({ sharedSecret: 'good' })
  expect([settings.isFresh(), faults]).toEqual([true, []])
  await write(kafka, old, { sharedSecret: 'better' })
  await until(() => settings.unreadable.size === 0)
  expect(settings.destinations.get('crm')?.sharedSecret).toBe('better')
})

test('an assumed record does not replace the last readable version', async () => {
  const kafka = await connection(topics)
  await write(kafka, old, { name: 'good' })
  const { settings } = await follow(kafka, [old])
  await write(kafka, fresh, { sharedSecret: 's3cret' })
  await until(() => settings.unreadable.size === 1)
  const value = sealRecord('destination/crm', aDestination({ name: 'supposed' }), keysOf(old))
  settings.table.supposing((suppose) => {
    suppose([{ topic: CONFIG, key: 'destination/crm', value }])
    expect(settings.destinations.get('crm')?.name).toBe('supposed')
  })
  expect(settings.destinations.get('crm')?.name).toBe('good')
  expect([...settings.unreadable.keys()]).toEqual(['destination/crm'])
})

test('a destination that this process has not read yet is not treated as deleted', async () => {
  const kafka = await connection(topics)
  const { settings } = await follow(kafka, [fresh])
  for (let version = 1; version <= 20; version++) {
    await write(kafka, fresh, { version, enabled: version % 2 === 1, name: `v${version}` })
    if (version % 2 === 1) expect(await settings.destination('crm')).toMatchObject({ name: `v${version}` })
    // otherwise, the next answer may be an enabled version that is a second old
    else await until(() => !settings.destinations.get('crm')?.enabled)
  }
})
