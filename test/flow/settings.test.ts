import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Connection } from '../../kafka/client.ts'
import { createProducer } from '../../kafka/produce.ts'
import { followSettings, type Settings } from '../../schemas/follow.ts'
import { mapSecrets, seal } from '../../schemas/seal.ts'
import { CONFIG } from '../../schemas/topics.ts'
import { closing, connection } from '../helpers/cluster.ts'
import { aDestination } from '../helpers/events.ts'
import { until } from '../helpers/until.ts'

const [old, fresh] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const topics = [{ name: CONFIG, partitions: 1 as const, kept: 'compact' as const }]

async function write(kafka: Connection, key: Buffer, more: object): Promise<void> {
  const producer = await createProducer(kafka)
  const owner = 'destination/crm'
  const sealed = mapSecrets(aDestination(more), (secret) =>
    seal(secret, { keys: [key], nonce: randomBytes(12), owner }),
  )
  expect(await producer.produce([{ topic: CONFIG, key: owner, value: JSON.stringify(sealed) }])).toBe('acked')
  await producer.close()
}

async function follow(kafka: Connection, keys: Buffer[]): Promise<{ settings: Settings; faults: string[] }> {
  const faults: string[] = []
  const settings = closing(
    await followSettings({ connection: kafka, keys, onFatal: (error) => void faults.push(error.message) }),
  )
  await settings.loaded
  return { settings, faults }
}

test('after a rotation the new key alone is enough, though old records of the topic are sealed with the old one', async () => {
  const kafka = await connection(topics)
  await write(kafka, old, { sharedSecret: 'before' })
  await write(kafka, fresh, { sharedSecret: 'after' })
  const { settings, faults } = await follow(kafka, [fresh])
  expect([faults, settings.destinations.get('crm')?.sharedSecret]).toEqual([[], 'after'])
})

test('a record that no key opens is fatal, at the start and later, and is named without its secret', async () => {
  const kafka = await connection(topics)
  await write(kafka, old, { sharedSecret: 's3cret' })
  // nobody goes on from here with a destination that seems not to be there
  const error = await follow(kafka, [fresh]).catch((reason: Error) => reason)
  expect(String(error)).toContain('destination/crm')
  expect(String(error)).not.toContain('s3cret')

  const late = await follow(kafka, [old])
  await write(kafka, fresh, { sharedSecret: 's3cret' })
  await until(() => late.faults.length === 1)
  expect(late.settings.isFresh()).toBe(false)
})

test('a destination that this process has not read yet is not taken for a deleted one', async () => {
  const kafka = await connection(topics)
  const { settings } = await follow(kafka, [fresh])
  for (let version = 1; version <= 20; version++) {
    await write(kafka, fresh, { version, enabled: version % 2 === 1, name: `v${version}` })
    if (version % 2 === 1) expect((await settings.destination('crm'))?.name).toBe(`v${version}`)
  }
})
