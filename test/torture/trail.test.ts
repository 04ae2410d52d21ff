import { expect, test } from 'vitest'
import { trailText } from '../../torture/trail.ts'

test('a trail lists what topics hold of a delivery by time, and what power cuts removed', () => {
  const step = { key: 'crm m1', partition: 0, headers: { dueAt: '5' } }
  const delivery = { deliveryId: 'd1', attempt: 1, body: '{"userId":"u"}' } as never
  const retries = { kind: 'retries', topic: 'deliveries.due', partition: 2 } as const
  const keys = new Map([
    [7, 'crm m1'],
    [8, 'crm m1'],
    [9, 'crm m2'],
  ])
  const text = trailText({
    keys: ['crm m1', 'crm m9'],
    steps: [
      { ...step, topic: 'deliveries.retry.1s', offset: 4, writtenAt: 2_000, content: delivery },
      { ...step, topic: 'deliveries', offset: 3, writtenAt: 1_000, content: delivery },
      { ...step, key: 'crm m2', topic: 'deliveries', offset: 5, writtenAt: 0, content: delivery },
    ],
    cuts: [
      { ...retries, from: 7, to: 10, keys },
      { ...retries, from: 11, to: 12, keys: new Map([[11, 'crm m1']]), isUnwitnessed: true },
    ],
    reported: [{ topic: 'deliveries.due', partition: 2, from: 7, to: 8 }],
  })
  const json = '{"deliveryId":"d1","attempt":1,"headers":{"dueAt":"5"}}'
  expect(text.split('\n')).toEqual([
    'crm m1',
    `  1970-01-01T00:00:01.000Z deliveries-0@3 ${json}`,
    `  1970-01-01T00:00:02.000Z deliveries.retry.1s-0@4 ${json}`,
    '  lost: deliveries.due-2@7, reported',
    '  lost: deliveries.due-2@8, unreported',
    '  lost: deliveries.due-2@11, unwitnessed',
    'crm m9',
    '',
  ])
})
