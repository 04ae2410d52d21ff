import { expect, test } from 'vitest'
import { listed, replaysShape } from '../../../control/tasks/replays/routes.ts'
import type { Replay } from '../../../schemas/task.ts'

const replay = (id: string, second: number, destinationId = 'crm'): Replay => ({
  kind: 'replay',
  id,
  destinationId,
  what: 'dead',
  perSecond: 500,
  createdAt: `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`,
  state: 'done',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-02T00:00:00.000Z',
  ranges: [],
  read: 0,
  replayed: 0,
  parked: 0,
})

const all = [replay('a', 3), replay('b', 9), replay('c', 9), replay('d', 1), replay('e', 20, 'erp')]

function pages(asked: object): string[][] {
  const found: string[][] = []
  for (let cursor: string | undefined; ; ) {
    const query = replaysShape.parse({ ...asked, ...(cursor !== undefined && { cursor }) })
    const { items, next } = listed(all, query)
    found.push(items.map(({ id }) => id))
    if (next === null) return found
    cursor = next
  }
}

test('unless told they come in the order of ids', () => {
  expect(pages({ limit: '2' })).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})

test('asked for the newest, those that were begun last come first, page by page', () => {
  expect(pages({ newest: 'true', limit: '2' })).toEqual([['e', 'b'], ['c', 'a'], ['d']])
})

test('those to one destination alone', () => {
  expect(pages({ newest: 'true', destinationId: 'erp' })).toEqual([['e']])
  expect(pages({ destinationId: 'gone' })).toEqual([[]])
})
