import { expect, test } from 'vitest'
import type { ConsumerRecord, Message } from '../../kafka/consume/record.ts'
import { createWaitingEvents } from '../../router/waiting-events.ts'
import type { Event } from '../../schemas/event.ts'
import { anEvent } from '../helpers/events.ts'
import { until } from '../helpers/until.ts'

type About = { sourceId?: string; partition?: number; bytes?: number; owned?: () => boolean }

/** Events in `long` take until `end` is called. */
function world({ isReady = () => true }: { isReady?: () => boolean } = {}) {
  const log: string[] = []
  const running = new Map<string, () => void>()
  const long = new Set<string>()
  const route = ({ value: { messageId } }: ConsumerRecord<Event>) => {
    log.push(messageId)
    if (!long.has(messageId)) return
    return new Promise<void>((resolve) => void running.set(messageId, resolve))
  }
  const slices = { isSpent: () => false, next: async () => undefined }
  const waiting = createWaitingEvents({ slices, isReady, route })

  function take(
    messageId: string,
    { sourceId = 'shop', partition = 0, bytes = 10, owned = () => true }: About = {},
  ) {
    const record: ConsumerRecord<Event> = {
      topic: 'events',
      partition,
      offset: 0,
      timestamp: 0,
      key: '',
      value: anEvent({ messageId, sourceId }),
      owned,
      settle: () => undefined,
      release: () => void log.push(`${messageId} released`),
      park: () => undefined,
    }
    const message: Message = {
      key: null,
      value: Buffer.alloc(bytes),
      timestamp: '0',
      attributes: 0,
      offset: '0',
      headers: {},
    }
    const waits = waiting.add(record, message)
    const routing = waits === 'no' ? route(record) : undefined
    if (routing) waiting.follow(record, routing)
    return waits
  }

  return { take, log, long, end: (messageId: string) => running.get(messageId)?.() }
}

test('events wait for an earlier one of their source and partition, and keep their order', async () => {
  const { take, log, long, end } = world()
  long.add('first').add('second')
  expect([take('first'), take('second'), take('third')]).toEqual(['no', 'waits', 'waits'])
  expect(log).toEqual(['first'])
  end('first')
  await until(() => log.length === 2)
  expect(take('fourth')).toBe('waits')
  expect(log).toEqual(['first', 'second'])
  end('second')
  await until(() => log.length === 4)
  expect(log).toEqual(['first', 'second', 'third', 'fourth'])
  await until(() => take('fifth') === 'no')
})

test('events of other sources and partitions do not wait', () => {
  const { take, long } = world()
  long.add('first')
  take('first')
  expect(take('second', { sourceId: 'app' })).toBe('no')
  expect(take('third', { partition: 1 })).toBe('no')
})

test('256 KB of events wait in a partition; further ones have no room until these are routed', async () => {
  const { take, log, long, end } = world()
  long.add('first').add('other')
  take('first')
  take('other', { partition: 1 })
  for (let nth = 0; nth < 256; nth++) expect(take(`waiting${nth}`, { bytes: 1024 })).toBe('waits')
  expect(take('last')).toBe('full')
  expect(take('elsewhere', { partition: 1 })).toBe('waits')
  end('first')
  await until(() => log.length === 2 + 256)
  long.add('again')
  await until(() => take('again') === 'no')
  expect(take('last')).toBe('waits')
})

test('a waiting event is routed once the router is ready', async () => {
  let isReady = false
  const { take, log, long, end } = world({ isReady: () => isReady })
  long.add('first')
  take('first')
  take('second')
  end('first')
  await new Promise(setImmediate)
  expect(log).toEqual(['first'])
  isReady = true
  await until(() => log.includes('second'))
})

test('events that wait when the partition is given up are released', async () => {
  let owned = true
  const { take, log, long, end } = world({ isReady: () => owned })
  long.add('first')
  take('first')
  take('second', { owned: () => owned })
  owned = false
  end('first')
  await until(() => log.length === 2)
  expect(log).toEqual(['first', 'second released'])
})
