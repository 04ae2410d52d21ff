import { expect, test } from 'vitest'
import type { Taken } from '../../kafka/taken.ts'
import type { Written } from '../../router/duplicates/seen.ts'
import type { Entry } from '../../router/duplicates/window.ts'
import { type RouterParts, router } from '../../router/run.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'
import { collectGarbage } from '../helpers/garbage.ts'
import { until } from '../helpers/until.ts'

const message = {
  key: null,
  value: null,
  timestamp: '0',
  attributes: 0,
  offset: '7',
  headers: {},
}

const aRecord = (fields: Partial<Taken<Event>>): Taken<Event> => ({
  topic: 'events',
  partition: 0,
  offset: 7,
  timestamp: 0,
  key: 'shop/u1',
  value: anEvent(),
  settle: () => undefined,
  owned: () => true,
  release: () => undefined,
  park: () => undefined,
  ...fields,
})

/** A router, and what it remembers. */
function aRouter(parts: Partial<RouterParts> = {}) {
  const entries: Entry[] = []
  const handle = router({
    settings: { isFresh: () => true, destinationsOf: () => [] },
    codec: { encode: () => Buffer.alloc(0) },
    producer: { produce: async () => 'acked', queuedBytes: () => 0 },
    duplicates: {
      of: () => ({ admit: (entry) => entries.push(entry) > 0, write: () => async () => 'acked' }),
    },
    onRouted: () => undefined,
    onDuplicate: () => undefined,
    ...parts,
  })
  return { handle, entries }
}

/** @returns what is remembered of an event with this record's time. */
function rememberedOf(timestamp: number): Entry[] {
  const { handle, entries } = aRouter()
  handle(aRecord({ timestamp }), message)
  return entries
}

test.each<[string, Partial<RouterParts>]>([
  ['the settings cannot be followed', { settings: { isFresh: () => false, destinationsOf: () => [] } }],
  [
    'much waits for Kafka',
    { producer: { produce: async () => 'acked', queuedBytes: () => 17 * 1024 * 1024 } },
  ],
  ['the ids of its partition are not loaded', { duplicates: { of: () => undefined } }],
])('while %s an event is held, and neither remembered nor settled', (_what, parts) => {
  const settled: string[] = []
  const { handle, entries } = aRouter(parts)
  const held = handle(aRecord({ settle: () => void settled.push('settled') }), message)
  expect(held).toEqual({ holdUntil: expect.any(Number) })
  expect([entries, settled]).toEqual([[], []])
})

test('an event is remembered with the time of its record', () => {
  expect(rememberedOf(5_000)).toMatchObject([{ offset: 7, time: 5_000 }])
})

test('a time to come counts as now: it would make all others too old', () => {
  const [entry] = rememberedOf(Date.now() + 3_600_000)
  expect(entry?.time).toBeLessThanOrEqual(Date.now())
})

test.each<[Written, string]>([
  ['acked', 'settled'],
  ['unwritten', 'settled'],
  ['unknown', 'released'],
])('an event whose deliveries are written, and whose id is %s, is %s', async (written, end) => {
  const ends: string[] = []
  const duplicates = { of: () => ({ admit: () => true, write: () => async () => written }) }
  const { handle } = aRouter({ duplicates })
  const settle = () => void ends.push('settled')
  handle(aRecord({ settle, release: () => void ends.push('released') }), message)
  await until(() => ends.length > 0)
  expect(ends).toEqual([end])
})

test('an event that waits for Kafka is not kept: thousands wait at a time', async () => {
  const settled: string[] = []
  const ack = Promise.withResolvers<'acked'>()
  const { handle } = aRouter({ producer: { produce: () => ack.promise, queuedBytes: () => 0 } })
  function take(): WeakRef<Event> {
    const record = aRecord({ settle: () => void settled.push('settled') })
    handle(record, message)
    return new WeakRef(record.value)
  }
  const event = take()
  await until(() => {
    collectGarbage()
    return event.deref() === undefined
  })
  expect(settled).toEqual([])
  ack.resolve('acked')
  await until(() => settled.length === 1)
})
