import { describe, expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import type { Task } from '../../schemas/task.ts'
import { taskKey } from '../../schemas/task.ts'
import { aLagItem, lagHeld } from '../control/lag-in-memory.ts'
import { aDeletion, aReplay, tasksInMemory } from '../control/tasks-in-memory.ts'
import { control, operatorOf } from './in-memory.ts'

/** What `sluice <args>` prints where control has these tasks. */
async function told(args: string, tasks: readonly Task[]): Promise<string[]> {
  const held = tasksInMemory()
  for (const task of tasks) held.known.apply(taskKey(task), task)
  const world = await operatorOf(control({}, { tasks: held.tasks, ...lagHeld([aLagItem()]) }))
  expect(await run(args.split(' '), world)).toBe(0)
  return world.out.said
}

describe('replay show', () => {
  const line = 'replay r1 is running: 0 of 20 records read, 0 replayed'

  test('tells how far one is', async () => {
    expect(await told('replay show r1', [aReplay()])).toEqual([line])
  })

  test('tells how many could not be read, and why it was ended', async () => {
    const cause = { code: 'destination_removed', message: 'Its destination\nis not there any more' }
    const replay = aReplay({ state: 'cancelled', parked: 2, cause })
    expect(await told('replay show r1', [replay])).toEqual([
      `${line.replace('running', 'cancelled')}, 2 could not be read: they are in topic parked`,
      'Its destination\\nis not there any more',
    ])
  })
})

describe('lag', () => {
  const lines = [
    'group   topic   partition  end  committed  lag  seconds  status',
    'router  events  0          100  90         10   1.5      ok',
  ]

  test('is all there is where nothing is to be done', async () => {
    expect(await told('lag', [])).toEqual(lines)
  })

  test('has below it what control has still to do', async () => {
    const createdAt = new Date(Date.now() - 90_000).toISOString()
    const said = await told('lag', [aDeletion({ id: 'd1', createdAt }), aDeletion({ id: 'd2' }), aReplay()])
    expect(said.slice(0, -4)).toEqual(lines)
    expect(said.slice(-4)).toEqual([
      '',
      expect.stringMatching(/^undone +count +oldest, seconds$/),
      expect.stringMatching(/^deletion +2 +\d+(\.\d)?$/),
      expect.stringMatching(/^replay +1 +\d+(\.\d)?$/),
    ])
  })
})
