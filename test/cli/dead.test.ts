import { expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { aDeadOne, deadHeld } from '../control/dead-in-memory.ts'
import { control, operatorOf } from './in-memory.ts'

async function dead(...args: string[]) {
  const held = deadHeld([
    aDeadOne({ destinationId: 'crm', deliveryId: 'a', messageId: 'm1', deadReason: 'rejected' }),
    aDeadOne({ destinationId: 'crm', deliveryId: 'b', messageId: 'm2' }),
    aDeadOne({ destinationId: 'mail', deliveryId: 'c', messageId: 'm3', deadReason: 'rejected' }),
  ])
  const context = await operatorOf(control({}, held))
  expect(await run(['dead', ...args], context)).toBe(0)
  return context.out.text()
}

/** Destination, reason and number of each line above the list. */
const counts = (out: string) => {
  const [, ...lines] = (out.split('\n\n')[0] ?? '').split('\n')
  return lines.map((line) => line.trim().split(/ +/)).sort()
}

test('dead letters are counted by destination and reason', async () => {
  expect(counts(await dead())).toEqual([
    ['crm', 'attempts_exhausted', '1'],
    ['crm', 'rejected', '1'],
    ['mail', 'rejected', '1'],
  ])
})

test('with a destination or a reason only its own are counted', async () => {
  expect(counts(await dead('--destination', 'mail'))).toEqual([['mail', 'rejected', '1']])
  expect(counts(await dead('--destination', 'crm', '--reason', 'rejected'))).toEqual([
    ['crm', 'rejected', '1'],
  ])
})

test('a destination without dead letters says so, even if others have some', async () => {
  expect(await dead('--destination', 'shop')).toBe('No dead letters.')
})

test('as JSON the counts are of all destinations and reasons', async () => {
  expect(JSON.parse(await dead('--destination', 'mail', '--json')).counts).toHaveLength(3)
})
