import { expect, test } from 'vitest'
import type { Taken } from '../../kafka/taken.ts'
import type { Entry } from '../../router/duplicates/window.ts'
import { router } from '../../router/run.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'

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

/** @returns what is remembered of an event with this record's time. */
function rememberedOf(timestamp: number): Entry[] {
  const entries: Entry[] = []
  const handle = router({
    settings: { isFresh: () => true, destinationsOf: () => [] },
    codec: { encode: () => Buffer.alloc(0) },
    producer: { produce: async () => 'acked', queuedBytes: () => 0 },
    duplicates: { of: () => ({ admit: (entry) => entries.push(entry) > 0, write: async () => 'acked' }) },
    onRouted: () => undefined,
    onDuplicate: () => undefined,
  })
  handle(aRecord({ timestamp }), message)
  return entries
}

test('an event is remembered with the time of its record', () => {
  expect(rememberedOf(5_000)).toMatchObject([{ offset: 7, time: 5_000 }])
})

test('a time to come counts as now: it would make all others too old', () => {
  const [entry] = rememberedOf(Date.now() + 3_600_000)
  expect(entry?.time).toBeLessThanOrEqual(Date.now())
})
