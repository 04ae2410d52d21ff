import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { configRecord, resealSettings } from '../../control/settings/write.ts'
import type { Connection } from '../../kafka/client.ts'
import type { OutRecord } from '../../kafka/produce/produce.ts'
import { createFencedWriter } from '../../kafka/produce/transactions.ts'
import { openTable } from '../../kafka/tables/table.ts'
import { verify } from '../../settings/seal.ts'
import { CONFIG, type Suppression } from '../../settings/settings.ts'
import { closing, connection, narrowTopic } from '../helpers/cluster.ts'
import { keysOf } from '../helpers/config-keys.ts'

const GZIP = 1
const [old, fresh] = [randomBytes(32), randomBytes(32)]
const both = keysOf(fresh, old)

async function control(kafka: Connection) {
  const onFatal = (error: Error) => {
    throw error
  }
  const table = closing(await openTable({ connection: kafka, topic: CONFIG, onFatal }))
  await table.loaded
  const writer = closing(createFencedWriter({ connection: kafka, transactionalId: 'control.config', table }))
  const lines: string[] = []
  const note = (...parts: unknown[]) => void lines.push(JSON.stringify(parts))
  const log = { info: note, warn: note }
  return {
    table,
    writer,
    lines,
    reseal: () => resealSettings({ settings: { table }, writer, keys: both, log }),
  }
}

function oldSetting(index: number, userId: string): OutRecord {
  const stamp = { version: 1, updatedAt: '2026-01-02T03:04:05.678Z' }
  const record: Suppression = { id: `s${index}`, sourceId: '*', userId, ...stamp }
  return configRecord({ kind: 'suppression', id: record.id, record }, keysOf(old))
}

async function withOldSettings(userIds: readonly string[]): Promise<Connection> {
  const kafka = await connection([{ name: CONFIG, partitions: 1, retention: 'compact' }])
  const { writer } = await control(kafka)
  for (const [index, userId] of userIds.entries())
    expect(await writer.write(() => ({ records: [oldSetting(index, userId)] }))).toEqual({ ok: true })
  return kafka
}

const signedWithNew = ({ table }: Awaited<ReturnType<typeof control>>) =>
  [...table.entries()].map(([key, value]) => typeof verify(key, value.toString(), keysOf(fresh)))

test('settings are sealed again although another control process takes over the writing meanwhile', async () => {
  const kafka = await withOldSettings(['u1', 'u2'])
  const [starting, other] = [await control(kafka), await control(kafka)]
  const nothing = { records: [{ topic: CONFIG, key: 'source/none', value: null }] }
  await starting.writer.write(() => nothing)
  await other.writer.write(() => nothing)
  await starting.reseal()
  expect(signedWithNew(starting)).toEqual(['object', 'object'])
  expect(starting.lines).toEqual(['[{"settings":2},"old settings are signed and sealed again"]'])
})

test('settings that together are larger than a request to Kafka are sealed again', async () => {
  const kafka = await withOldSettings(
    Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(32_000)}`),
  )
  const starting = await control(kafka)
  await starting.reseal()
  expect(new Set(signedWithNew(starting))).toEqual(new Set(['object']))
  expect(starting.lines).toEqual(['[{"settings":40},"old settings are signed and sealed again"]'])
})

test('a setting that Kafka takes only compressed does not keep others from being sealed again', async () => {
  const kafka = await connection([])
  await narrowTopic(kafka, CONFIG, 20_000)
  const producer = kafka.kafka.producer()
  await producer.connect()
  const all = Array.from({ length: 150 }, (_, index) =>
    oldSetting(index, index === 0 ? 'x'.repeat(30_000) : `u${index}`),
  )
  const messages = all.map(({ key, value }) => ({ key, value }))
  await producer.send({ topic: kafka.named(CONFIG), messages, compression: GZIP })
  await producer.disconnect()
  const starting = await control(kafka)
  await starting.reseal()
  expect(signedWithNew(starting)).toEqual(['string', ...Array(149).fill('object')])
  expect(starting.lines).toEqual([
    expect.stringContaining('"settings":["suppression/s0"]},"some old settings were not'),
  ])
})
