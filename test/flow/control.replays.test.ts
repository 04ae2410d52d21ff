import { expect, test } from 'vitest'
import { performReplay } from '../../control/tasks/replays/perform.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Delivery } from '../../schemas/delivery.ts'
import type { Event } from '../../schemas/event.ts'
import { DEAD, DUE } from '../../schemas/topics.ts'
import { aDeadOne } from '../control/dead-in-memory.ts'
import { crm, factsOf } from '../control/in-memory.ts'
import { aReplay, tasksInMemory } from '../control/tasks-in-memory.ts'
import { closing, connection, readAll } from '../helpers/cluster.ts'

const codec = <T>(): Codec<T> => ({
  encode: (value) => Buffer.from(JSON.stringify(value)),
  decode: (value) => ({ ok: true, value: JSON.parse(String(value)) }),
})

test('a replay whose end could not be written, and that is performed again, sends nothing twice', async () => {
  const kafka = await connection([
    { name: DEAD, partitions: 1 },
    { name: DUE, partitions: 1 },
  ])
  const producer = closing(await createProducer(kafka))
  const letters = ['m1', 'm2', 'm3'].map((messageId) => aDeadOne({ messageId, deliveryId: messageId }))
  const delivery = codec<Delivery>()
  const records = letters.map((letter) => ({ topic: DEAD, key: 'crm/u1', value: delivery.encode(letter) }))
  expect(await producer.produce(records)).toBe('acked')
  const { tasks, known, taskWriter } = tasksInMemory()
  const replay = aReplay({ to: '2999-01-01T00:00:00Z', ranges: [{ partition: 0, from: 0, to: 3 }] })
  known.apply('replay/r1', replay)
  const parts = {
    connection: kafka,
    settings: { ...factsOf({ destinations: [crm] }), hasUnreadRules: () => false },
    producer,
    delivery,
    event: codec<Event>(),
    known: tasks,
    tasks: taskWriter,
    tracer: undefined,
    readerOf: () => expect.fail('no event is read'),
    onFatal: (error: Error) => expect.fail(error.message),
  }
  const sent = async () => (await readAll(kafka, DUE)).length
  expect(await performReplay(replay, () => true, parts)).toMatchObject({ state: 'done', replayed: 3 })
  expect(await sent()).toBe(3)
  expect(await performReplay(replay, () => true, parts)).toMatchObject({ state: 'done' })
  expect(await sent()).toBe(3)
})
