import { expect, test } from 'vitest'
import type { ConsumerRecord } from '../../kafka/consume/record.ts'
import { inTrace } from '../../kafka/consume/spans.ts'
import { sendIn } from '../../kafka/produce/produce.ts'
import { collectGarbage } from '../helpers/garbage.ts'
import { until } from '../helpers/until.ts'
import { aTracer, SAMPLED } from '../trace/collected.ts'

const where = {
  topic: 'p.events',
  group: 'p.router',
  headers: { traceparent: Buffer.from(SAMPLED) },
  describe: (value: string) => ({ 'sluice.message.id': value }),
}
const message = { key: null, value: null, timestamp: '0', attributes: 0, offset: '7', headers: {} }

function aTaken() {
  const told: string[] = []
  const record: ConsumerRecord<string> = {
    topic: 'events',
    partition: 1,
    offset: 7,
    timestamp: 0,
    key: 'shop/u1',
    value: 'm1',
    settle: () => void told.push('settled'),
    owned: () => true,
    release: () => void told.push('released'),
    park: (_, reason) => void told.push(reason),
  }
  return { record, told }
}

test('a span ends when its record is settled, released or parked', async () => {
  const { tracer, ended } = aTracer()
  const { record, told } = aTaken()
  inTrace(tracer, record, where).settle()
  inTrace(tracer, record, where).release()
  inTrace(tracer, record, where).park(message, 'unreadable')
  expect(told).toEqual(['settled', 'released', 'unreadable'])
  const outcomes = (await ended()).map(({ attributes }) => [
    attributes['sluice.outcome'],
    attributes['error.type'],
  ])
  expect(outcomes).toEqual([
    [undefined, undefined],
    ['released', undefined],
    [undefined, 'parked'],
  ])
})

test("a span names its record and continues the record's trace", async () => {
  const { tracer, ended } = aTracer()
  inTrace(tracer, aTaken().record, where).settle()
  expect(await ended()).toMatchObject([
    {
      traceId: 'a'.repeat(32),
      parent: 'b'.repeat(16),
      attributes: { 'messaging.kafka.offset': 7, 'sluice.message.id': 'm1' },
    },
  ])
})

test('the closures that end a record do not keep its value in memory', async () => {
  const { tracer, ended } = aTracer()
  function begin() {
    const { record } = aTaken()
    const value = { messageId: 'm1' }
    const { settle } = inTrace(tracer, { ...record, value }, { ...where, describe: () => ({}) })
    return { settle, value: new WeakRef(value) }
  }
  const { settle, value } = begin()
  await until(() => {
    collectGarbage()
    return value.deref() === undefined
  })
  settle()
  expect(await ended()).toHaveLength(1)
})

test('the span of a held record is not reported: the record comes again', async () => {
  const { tracer, ended } = aTracer()
  inTrace(tracer, aTaken().record, where)
  expect(await ended()).toEqual([])
})

test('sent records carry the trace in addition to their headers, and a refusal by Kafka is an error', async () => {
  const { tracer, ended } = aTracer()
  const work = tracer.process({ ...where, partition: 1, offset: 7, describe: undefined })
  const records = ['a', 'b'].map((key) => ({
    topic: 'deliveries',
    key,
    value: null,
    headers: { dueAt: '1' },
  }))
  const written: unknown[] = []
  const sent = { topic: 'p.deliveries', count: records.length }
  const produced = await sendIn<(typeof records)[number]>(work, sent, async (traced) => {
    written.push(...records.map((record) => traced(record).headers))
    return 'unknown'
  })
  expect(produced).toBe('unknown')
  const [span] = await ended()
  expect(span).toMatchObject({
    name: 'send p.deliveries',
    isError: true,
    attributes: { 'messaging.batch.message_count': 2, 'error.type': 'unknown' },
  })
  const headers = { dueAt: '1', traceparent: `00-${span?.traceId}-${span?.spanId}-01` }
  expect(written).toEqual([headers, headers])
})
