import { expect, test } from 'vitest'
import { createFencedWriter } from '../../kafka/fenced.ts'
import { openTable } from '../../kafka/table.ts'
import { closing, connection } from '../helpers/cluster.ts'

const compacted = { name: 'settings', partitions: 1 as const, kept: 'compact' as const }
const onFatal = (error: Error) => {
  throw error
}

test('of a writer that is killed in the middle of a write nothing is shown, and the next one does not wait for it', async () => {
  const kafka = await connection([compacted])
  const killed = kafka.kafka.producer({ transactionalId: kafka.named('writer'), idempotent: true })
  await killed.connect()
  const half = await killed.transaction()
  const messages = ['a', 'b'].map((key) => ({ key, value: 'half' }))
  await half.send({ topic: kafka.named('settings'), messages })
  await killed.disconnect()

  const table = closing(await openTable({ connection: kafka, topic: 'settings', onFatal }))
  const writer = closing(createFencedWriter({ connection: kafka, transactionalId: 'writer', table }))
  const seen: (string | undefined)[] = []
  const written = await writer.write(() => {
    seen.push(table.get('a')?.toString())
    return { records: [{ topic: 'settings', key: 'b', value: 'whole' }] }
  })
  expect(written).toEqual({ ok: true })
  expect(new Set(seen)).toEqual(new Set([undefined]))
  expect([...table.entries()].map(([key, value]) => [key, String(value)])).toEqual([['b', 'whole']])
})
