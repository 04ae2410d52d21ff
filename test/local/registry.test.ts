import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startBroker } from '../../local/kafka/broker.ts'
import { ensureJournal, startRegistry } from '../../local/kafka/registry.ts'
import { createLog } from '../../process/log.ts'
import { connection } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'
import { temporaryFolder } from './folders.ts'
import { javaTools } from './java-tools.ts'

const { forBroker, forRegistry } = await javaTools()

async function startBoth() {
  const directory = await temporaryFolder()
  const broker = await startBroker({ directory: join(directory, 'kafka'), ...forBroker })
  const kafka = { ssl: false, sasl: undefined, topicPrefix: 'a.', partitions: 3, replication: 1 }
  const registry = await startRegistry({
    brokers: broker.brokers,
    directory,
    ensureJournal: (brokers) =>
      ensureJournal({ ...kafka, brokers: [brokers] }, createLog({ role: 'start', level: 'silent' })),
    ...forRegistry,
  })
  return { broker, registry }
}

/** Repeated while the registry cannot write; the id stays the same. */
const registered = (...call: Parameters<typeof register>) =>
  until(() => register(...call), { timeout: 90_000 })

async function register(url: string, subject: string, schema: string): Promise<number> {
  const response = await fetch(`${url}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema: JSON.stringify({ type: 'record', name: schema, fields: [] }) }),
    signal: AbortSignal.timeout(15_000),
  })
  if (!response.ok) throw new Error(`registering answered ${response.status}`)
  const answer: unknown = await response.json()
  return z.object({ id: z.number() }).parse(answer).id
}

test('the registry survives a restart of the broker, and its ids survive kill -9 of the registry', {
  timeout: 360_000,
}, async () => {
  const { broker, registry } = await startBoth()
  const first = await registered(registry.url, 'one', 'First')
  await broker.kill()
  await broker.restart()
  const second = await registered(registry.url, 'two', 'Second')
  expect(second).not.toBe(first)
  await registry.kill()
  const again = await registry.restart()
  expect(again.url).toBe(registry.url)
  expect(await registered(again.url, 'one', 'First')).toBe(first)
  expect(await registered(again.url, 'two', 'Second')).toBe(second)

  const { kafka } = await connection([], broker.brokers)
  const admin = kafka.admin()
  await admin.connect()
  const journal = { type: 2, name: 'kafkasql-journal', configNames: ['retention.ms'] } // 2: a topic
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [journal] })
  await admin.disconnect()
  expect(resources[0]?.configEntries[0]).toMatchObject({ configValue: '-1' }) // kept for ever
})
