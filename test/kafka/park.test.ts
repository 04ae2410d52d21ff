import { expect, test } from 'vitest'
import { park, parkedRecord } from '../../kafka/produce/park.ts'
import type { OutRecord } from '../../kafka/produce/produce.ts'

const LIMIT = 1_000_000

/** The broker counts headers too. */
function sizeOf({ key, value, headers = {} }: OutRecord): number {
  const texts = [key, value ?? '', ...Object.entries(headers).flat()]
  return texts.reduce((sum: number, text) => sum + Buffer.byteLength(String(text)), 0)
}

async function parked(message: Pick<OutRecord, 'key' | 'value' | 'headers'>) {
  const written: OutRecord[] = []
  const place = { topic: 'events', partition: 2, offset: 7, reason: 'undecodable' }
  const { key, value, headers } = message
  const contents = { key: Buffer.from(key), value: value === null ? null : Buffer.from(value), headers }
  const producer = {
    async produce(records: readonly OutRecord[]) {
      if (records.some((record) => sizeOf(record) > LIMIT)) return 'refused' as const
      written.push(...records)
      return 'acked' as const
    },
  }
  const outcome = await park(
    producer,
    parkedRecord({ ...place, message: { ...contents, headers: headers ?? {} } }),
  )
  return { outcome, written }
}

const PLACE = {
  'parked-topic': 'events',
  'parked-partition': '2',
  'parked-offset': '7',
  'parked-reason': 'undecodable',
}
const large = 'x'.repeat(LIMIT)

test('a record is parked as it is', async () => {
  const { written } = await parked({ key: 'shop/u1', value: 'bytes', headers: { a: 'b' } })
  expect(written).toMatchObject([{ key: Buffer.from('shop/u1'), headers: { a: 'b', ...PLACE } }])
})

test('a record that is too large is parked without its value', async () => {
  const { written } = await parked({ key: 'shop/u1', value: large, headers: { a: 'b' } })
  expect(written).toMatchObject([
    { value: null, headers: { a: 'b', ...PLACE, 'parked-value-bytes': '1000000' } },
  ])
})

test.each([
  ['headers are', { key: 'shop/u1', value: 'bytes', headers: { a: large } }],
  ['headers, named like ours, are', { key: 'shop/u1', value: 'bytes', headers: { 'parked-a': large } }],
  ['key is', { key: large, value: 'bytes', headers: {} }],
])('a record whose %s too large is parked with its place only', async (_, message) => {
  const { outcome, written } = await parked(message)
  expect(outcome).toBe('acked')
  const headers = { ...PLACE, 'parked-value-bytes': '5', 'parked-key-bytes': String(message.key.length) }
  expect(written).toEqual([{ topic: 'parked', key: 'events/2', value: null, headers }])
})
