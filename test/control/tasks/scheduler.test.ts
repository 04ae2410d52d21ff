import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { performSync, type SyncParts } from '../../../control/tasks/audiences/perform.ts'
import { performReplay, type ReplayParts } from '../../../control/tasks/replays/perform.ts'
import {
  createScheduler,
  type IsOwned,
  MAX_RUNNING,
  type Perform,
  type SchedulerParts,
  stillOwned,
  TaskFailed,
} from '../../../control/tasks/scheduler.ts'
import { type Replay, type Sync, type Task, taskKey } from '../../../schemas/task.ts'
import { factsOf } from '../in-memory.ts'
import { aDeletion, aReplay, aSync, tasksInMemory } from '../tasks-in-memory.ts'

const HOUR = 3_600_000

type Call = {
  key: string
  isOwned: IsOwned
  end(task?: Task): Promise<void>
  fail(error: unknown): Promise<void>
}

/** Tasks end on request. `calls`: those that started. */
function aRunner(accepted: readonly Task[], more: Partial<SchedulerParts> = {}) {
  const { tasks, known, taskWriter, topic } = tasksInMemory()
  for (const task of accepted) known.apply(taskKey(task), task)
  const calls: Call[] = []
  const clock = { now: 0 }
  const logged: string[] = []
  const ended: string[] = []
  const state = { owns: true }
  const settled = async () => {
    for (let semaphore = 0; semaphore < 5; semaphore++) await turn()
  }
  const perform: Perform = (task, isOwned) => {
    const { promise, resolve, reject } = Promise.withResolvers<Task | undefined>()
    calls.push({
      key: taskKey(task),
      isOwned,
      end: (end) => {
        resolve(end)
        return settled()
      },
      fail: (error) => {
        reject(error)
        return settled()
      },
    })
    return promise
  }
  const log = (_: unknown, message?: string) => void logged.push(message ?? '')
  const runner = createScheduler({
    tasks,
    taskWriter,
    perform,
    owns: () => state.owns,
    onEnded: (task) => void ended.push(`${taskKey(task)} ${task.state}`),
    log: { warn: log, error: log },
    now: () => clock.now,
    ...more,
  })
  const startPending = async () => {
    runner.startPending()
    await settled()
  }
  const keys = () => calls.map(({ key }) => key)
  const call = (index: number) => calls[index] ?? expect.fail(`only ${calls.length} were begun`)
  return { ...runner, startPending, keys, call, calls, clock, state, known, topic, logged, ended }
}

const done = (task: Task): Task => ({ ...task, state: 'done' })

describe('pending tasks', () => {
  test('are performed once each while this process owns them, and written when they end', async () => {
    const runner = aRunner([aDeletion(), aReplay()])
    runner.state.owns = false
    await runner.startPending()
    expect(runner.calls).toEqual([])
    runner.state.owns = true
    await runner.startPending()
    await runner.startPending()
    expect([runner.keys(), runner.running()]).toEqual([['deletion/d1', 'replay/r1'], 2])
    await runner.call(0).end(done(aDeletion()))
    expect(runner.topic).toMatchObject([
      { kind: 'deletion', state: 'done', finishedAt: expect.stringMatching(/Z$/) },
    ])
    expect([runner.ended, runner.running()]).toEqual([['deletion/d1 done'], 1])
  })

  test('run a thousand at a time: the next one starts when one ends', async () => {
    const tasks = Array.from({ length: MAX_RUNNING + 2 }, (_, index) => aDeletion({ id: `d${index}` }))
    const runner = aRunner(tasks)
    await runner.startPending()
    await runner.startPending()
    expect([runner.calls.length, runner.running()]).toEqual([MAX_RUNNING, MAX_RUNNING])
    await runner.call(0).end(done(aDeletion({ id: 'd0' })))
    expect(runner.keys().at(-1)).toBe(`deletion/d${MAX_RUNNING}`)
    expect(runner.running()).toBe(MAX_RUNNING)
  })

  test('are left alone when ownership is lost, and continued when it returns', async () => {
    const runner = aRunner([aReplay()])
    await runner.startPending()
    expect(runner.call(0).isOwned()).toBe(true)
    runner.state.owns = false
    expect(runner.call(0).isOwned()).toBe(false)
    await runner.call(0).end()
    expect([runner.topic, runner.calls.length]).toEqual([[], 1])
    runner.state.owns = true
    await runner.startPending()
    expect(runner.keys()).toEqual(['replay/r1', 'replay/r1'])
  })

  test('are no longer owned once cancelled, and stay cancelled', async () => {
    const runner = aRunner([aReplay()])
    await runner.startPending()
    runner.known.apply('replay/r1', aReplay({ state: 'cancelled' }))
    expect(runner.call(0).isOwned()).toBe(false)
    await runner.call(0).end(done(aReplay()))
    await runner.startPending()
    expect([runner.topic, runner.ended, runner.calls.length]).toEqual([[], [], 1])
  })

  test('are not repeated if another process has completed them', async () => {
    const { tasks, known } = tasksInMemory()
    known.apply('deletion/d1', aDeletion())
    const caughtUp = async () => known.apply('deletion/d1', aDeletion({ state: 'done' }))
    const runner = aRunner([], { tasks: { ...tasks, table: { ...tasks.table, caughtUp } } })
    await runner.startPending()
    expect([runner.calls, runner.running()]).toEqual([[], 0])
  })

  test('are found to be lost after a pause, although this process has not noticed', async () => {
    const { tasks, known } = tasksInMemory()
    known.apply('sync/s1', aSync())
    let [time, asked] = [0, 0]
    const caughtUp = async () => {
      asked += 1
      if (time > 0) known.apply('sync/s1', aSync({ state: 'done' }))
    }
    const isOwned = stillOwned(
      () => tasks.pending.has('sync/s1'),
      { caughtUp },
      () => time,
    )
    expect([await isOwned(), await isOwned(), asked]).toEqual([true, true, 1])
    time = 10_000
    expect([await isOwned(), asked]).toEqual([false, 2])
  })

  test('are looked up again after a pause while Kafka was asked: its answer may be older than the pause', async () => {
    let [time, asked] = [0, 0]
    const caughtUp = async () => {
      asked += 1
      time += 10_000
    }
    const isOwned = stillOwned(
      () => true,
      { caughtUp },
      () => time,
    )
    await isOwned()
    await isOwned()
    expect(asked).toBe(2)
  })

  test('of one audience run one after the other, even after a cancelled one that has not stopped', async () => {
    const second = aSync({ id: 's2' })
    const other = aSync({ id: 's3', of: { kind: 'trait', id: 'vip' } })
    const runner = aRunner([aSync(), second, other])
    await runner.startPending()
    expect(runner.keys()).toEqual(['sync/s1', 'sync/s3'])
    runner.known.apply('sync/s1', aSync({ state: 'cancelled' }))
    await runner.startPending()
    expect(runner.keys()).toEqual(['sync/s1', 'sync/s3'])
    await runner.call(0).end()
    expect(runner.keys()).toEqual(['sync/s1', 'sync/s3', 'sync/s2'])
  })
})

test('a task is performed as its newest record says, also if that is read only after it was found', async () => {
  const { tasks, known, taskWriter } = tasksInMemory()
  const found = aDeletion({ sourceIds: ['shop'] })
  const decidedAgain = aDeletion({ sourceIds: ['shop', 'app'] })
  known.apply('deletion/d1', found)
  let reads = 0
  const caughtUp = async () => {
    reads += 1
    if (reads === 1) known.apply('deletion/d1', decidedAgain)
  }
  const performed: Task[] = []
  const runner = aRunner([], {
    tasks: { ...tasks, table: { ...tasks.table, caughtUp } },
    taskWriter,
    perform: async (task) => {
      performed.push(task)
      return done(task)
    },
  })
  await runner.startPending()
  expect(performed[0]).toEqual(decidedAgain)
})

describe('a task that fails', () => {
  const broken = new Error('broken')

  test('permanently has failed, with a cause, and contains no user ids', async () => {
    const runner = aRunner([aDeletion()])
    await runner.startPending()
    await runner.call(0).fail(new TaskFailed('records_gone', 'They are gone'))
    expect(runner.topic).toMatchObject([
      { state: 'failed', cause: { code: 'records_gone', message: 'They are gone' }, userIds: [] },
    ])
    expect(runner.ended).toEqual(['deletion/d1 failed'])
    await runner.startPending()
    expect(runner.calls).toHaveLength(1)
  })

  test('is retried after 1 s, 2 s, 4 s and so on up to 5 min, without delaying others', async () => {
    const runner = aRunner([aReplay()])
    const waits: number[] = []
    await runner.startPending()
    for (let tries = 0; tries < 11; tries++) {
      const failedAt = runner.clock.now
      await runner.call(tries).fail(broken)
      while (runner.calls.length === tries + 1) {
        runner.clock.now += 1_000
        await runner.startPending()
      }
      waits.push((runner.clock.now - failedAt) / 1_000)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    runner.known.apply('deletion/d1', aDeletion())
    await runner.call(11).fail(broken)
    expect(runner.keys().at(-1)).toBe('deletion/d1')
  })

  test('has failed for good after six hours of waiting', async () => {
    const runner = aRunner([aReplay()])
    while (runner.topic.length === 0 && runner.clock.now < 24 * HOUR) {
      await runner.startPending()
      if (runner.running() > 0) await runner.call(runner.calls.length - 1).fail(broken)
      runner.clock.now += 5 * 60_000
    }
    expect(runner.clock.now).toBeGreaterThan(6 * HOUR)
    expect(runner.clock.now).toBeLessThan(8 * HOUR)
    expect(runner.topic).toMatchObject([{ state: 'failed', cause: { code: 'gave_up', message: 'broken' } }])
  })

  test('because Kafka does not answer waits until it does, however long that takes', async () => {
    const { tasks, known } = tasksInMemory()
    known.apply('replay/r1', aReplay())
    let isAway = true
    const caughtUp = async () => {
      if (isAway) throw new Error('no broker')
    }
    const runner = aRunner([], { tasks: { ...tasks, table: { ...tasks.table, caughtUp } } })
    for (let looks = 0; looks < 200; looks++) {
      await runner.startPending()
      runner.clock.now += 5 * 60_000
    }
    isAway = false
    await runner.startPending()
    await runner.call(0).fail(broken)
    expect(runner.logged.at(-1)).toBe('a task failed and will be retried')
    expect(known.pending.has('replay/r1')).toBe(true)
  })

  test('because its end cannot be written is performed again', async () => {
    const unavailable = { ok: false, unavailable: new Error('no broker') } as const
    const runner = aRunner([aDeletion()], { taskWriter: { write: async () => unavailable } })
    await runner.startPending()
    await runner.call(0).end(done(aDeletion()))
    runner.clock.now += 1_000
    await runner.startPending()
    expect([runner.calls.length, runner.ended]).toEqual([2, []])
  })
})

const unread = { reason: 'it is not a JSON object', since: 0, isKept: false }
const isOwned = () => true

// unreadable settings decide before any other request to Kafka
const nothingElse = new Proxy({}, { get: (_, name) => expect.fail(`${String(name)} was asked for`) })
const withSettings = <T>(settings: object) =>
  new Proxy(nothingElse, { get: (_, name) => (name === 'settings' ? settings : nothingElse) }) as T

test('a replay for a destination that cannot be read is tried again later, not ended as if it were removed', async () => {
  const settings = factsOf({ unreadable: [{ ...unread, kind: 'destination', id: 'crm' }] })
  const replay = { id: 'r1', destinationId: 'crm', ranges: [] } as Partial<Replay> as Replay
  await expect(performReplay(replay, isOwned, withSettings<ReplayParts>(settings))).rejects.toThrow(
    'the settings of destination crm cannot be read',
  )
})

test.each(['audience', 'trait'] as const)(
  'a sync of an %s that cannot be read is tried again later',
  async (kind) => {
    const settings = factsOf({ unreadable: [{ ...unread, kind, id: 'vip' }] })
    const sync = { of: { kind, id: 'vip' }, since: '2026-01-02T03:04:05.678Z' } as Partial<Sync> as Sync
    const parts = withSettings<SyncParts>({ ...settings, table: { caughtUp: async () => {} } })
    await expect(performSync(sync, isOwned, parts)).rejects.toThrow(
      `the settings of ${kind} vip cannot be read`,
    )
  },
)
