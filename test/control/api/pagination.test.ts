import fc from 'fast-check'
import { expect, test } from 'vitest'
import { page, pageOfTasks, pageShape, tasksPageShape } from '../../../control/api/pagination.ts'

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z0-9_-]{1,8}$/), { maxLength: 30 })

test('all pages together hold each record once, in id order', () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 7 }), (all, limit) => {
      const seen: string[] = []
      let cursor: string | undefined
      for (let pages = 0; pages <= all.length; pages++) {
        const { items, next } = page(
          all.map((id) => ({ id })),
          { limit, cursor },
        )
        expect(items.length).toBeLessThanOrEqual(limit)
        seen.push(...items.map(({ id }) => id))
        if (next === null) break
        cursor = next
      }
      expect(seen).toEqual([...all].sort())
    }),
  )
})

test('a full last page says that nothing follows', () => {
  expect(page([{ id: 'a' }, { id: 'b' }], { limit: 2 })).toEqual({
    items: [{ id: 'a' }, { id: 'b' }],
    next: null,
  })
})

test('removing the record at the cursor loses none of the following ones', () => {
  expect(page([{ id: 'a' }, { id: 'c' }], { limit: 2, cursor: 'b' }).items).toEqual([{ id: 'c' }])
})

test('a page has 100 records by default, and at most 1000', () => {
  expect(pageShape.parse({})).toEqual({ limit: 100 })
  expect(pageShape.parse({ limit: '1000' }).limit).toBe(1_000)
  for (const limit of ['0', '1001', '-1', '1.5', 'x', ['1', '2']])
    expect(pageShape.safeParse({ limit }).success).toBe(false)
})

test('tasks are listed newest first, page by page, or in id order', () => {
  const of = (id: string, second: number) => ({ id, createdAt: `2026-01-02T03:04:0${second}.000Z` })
  const tasks = [of('b', 1), of('a', 2), of('c', 3), of('d', 3)]
  const first = pageOfTasks(tasks, { newest: 'true', limit: 3 })
  expect(first.items.map(({ id }) => id)).toEqual(['c', 'd', 'a'])
  expect(tasksPageShape.safeParse({ cursor: first.next }).success).toBe(true)
  const second = pageOfTasks(tasks, { newest: 'true', limit: 3, cursor: first.next ?? undefined })
  expect(second).toEqual({ items: [of('b', 1)], next: null })
  expect(pageOfTasks(tasks, { limit: 9 }).items.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
})
