import { expect, test } from 'vitest'
import { type Task, taskCodec } from '../../schemas/task.ts'
import { aDeletion, aReplay, aSync } from '../control/tasks-in-memory.ts'

const decoded = (task: object) => taskCodec.decode(Buffer.from(JSON.stringify(task)))

test('tasks are read as they were written', () => {
  const range = { partition: 0, from: 1, to: 2 }
  const tasks: Task[] = [
    aDeletion({ userIds: ['u1', 'u2'] }),
    aSync({ ranges: [range] }),
    aReplay({ ranges: [range], done: [range], places: [{ partition: 0, offset: 1 }] }),
  ]
  for (const task of tasks) expect(decoded(task)).toEqual({ ok: true, value: task })
})

test.each([
  ['userIds', aDeletion()],
  ['ranges', aReplay()],
  ['places', aReplay()],
])('wrong elements in %s are reported as one fault, not each by itself', (name, task) => {
  const record = { ...task, [name]: new Array(100_000).fill(0) }
  const message = 'a list has a wrong element'
  expect(decoded(record)).toEqual({ ok: false, reason: 'undecodable', message })
})
