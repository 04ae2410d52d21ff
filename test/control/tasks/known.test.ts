import { describe, expect, test, vi } from 'vitest'
import { endRecord } from '../../../control/api/auth/sessions.ts'
import { runningSync } from '../../../control/tasks/scheduler.ts'
import { createTaskIndex } from '../../../control/tasks/task-table.ts'
import { expired, MAX_COUNT, removeExpired } from '../../../control/tasks/worker.ts'
import { type Task, taskKey } from '../../../schemas/task.ts'
import { aDeletion, aReplay, aSync, tasksInMemory } from '../tasks-in-memory.ts'

const DAY = 24 * 3_600_000
const NOW = Date.parse('2026-03-01T00:00:00.000Z')
const at = (ms: number) => new Date(ms).toISOString()

function knowing(...records: readonly Task[]) {
  const known = createTaskIndex()
  for (const task of records) known.apply(taskKey(task), task)
  return known
}

test('the last record of a task wins, and accepted tasks are pending', () => {
  const known = knowing(aDeletion(), aSync(), aReplay(), aReplay({ read: 7 }), aSync({ state: 'done' }))
  expect([...known.pending.keys()]).toEqual(['deletion/d1', 'replay/r1'])
  expect(known.replays.get('r1')).toMatchObject({ read: 7 })
  expect(known.syncs.get('s1')).toMatchObject({ state: 'done' })
})

test('a removed task is unknown, but one of another kind with the same id is not', () => {
  const known = knowing(aDeletion({ id: 'same' }), aReplay({ id: 'same' }))
  known.apply('deletion/same', undefined)
  expect([known.deletions.size, known.replays.size, [...known.pending.keys()]]).toEqual([
    0,
    1,
    ['replay/same'],
  ])
})

test('the running sync of an audience is not that of a trait with the same id, and not an ended one', () => {
  const trait = aSync({ id: 's2', of: { kind: 'trait', id: 'vip' } })
  const known = knowing(aSync(), trait, aSync({ id: 's3', state: 'failed' }))
  expect(runningSync({ kind: 'audience', id: 'vip' }, known)?.id).toBe('s1')
  expect(runningSync({ kind: 'trait', id: 'vip' }, known)?.id).toBe('s2')
  known.apply('sync/s1', aSync({ state: 'cancelled' }))
  expect(runningSync({ kind: 'audience', id: 'vip' }, known)).toBeUndefined()
})

describe('surplus', () => {
  const idsOf = (...records: readonly Task[]) => expired(knowing(...records), NOW).map(taskKey)

  test('are tasks that ended over 30 days ago, not those accepted that long ago', () => {
    const old = { createdAt: at(NOW - 40 * DAY) }
    expect(
      idsOf(
        aDeletion({ id: 'old', ...old, state: 'done', finishedAt: at(NOW - 31 * DAY) }),
        aDeletion({ id: 'late', ...old, state: 'failed', finishedAt: at(NOW - 29 * DAY) }),
        aReplay({ id: 'long', ...old }),
      ),
    ).toEqual(['deletion/old'])
  })

  test('are those that ended first, once there are too many of a kind', () => {
    const many = Array.from({ length: MAX_COUNT }, (_, each) =>
      aSync({ id: `s${each}`, state: 'done', finishedAt: at(NOW - each) }),
    )
    const last = aSync({ id: 'last', createdAt: at(NOW - 20 * DAY), state: 'done', finishedAt: at(NOW) })
    const others = [aDeletion({ state: 'done', finishedAt: at(NOW - DAY) }), aSync({ id: 'undone' })]
    expect(idsOf(last, ...many, ...others)).toEqual([`sync/s${MAX_COUNT - 1}`])
  })
})

describe('the mark of a sign-out', () => {
  const HOUR = 3_600_000

  async function removals({ aheadMs, isRightLater }: { aheadMs: number; isRightLater: boolean }) {
    const { tasks, endedSessions } = tasksInMemory()
    const { key, value } = endRecord({ id: 'abc', until: Math.floor(Date.now() / 1000) })
    endedSessions.apply(String(key), Buffer.from(value ?? ''))
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + aheadMs)
    const written: unknown[] = []
    const taskWriter: Parameters<typeof removeExpired>[0]['taskWriter'] = {
      async write(decide) {
        // Kafka was away
        if (isRightLater) clock.mockRestore()
        const decision = decide()
        written.push(...('records' in decision ? decision.records : []))
        return { ok: true }
      },
    }
    await removeExpired({ tasks: { ...tasks, endedSessions }, taskWriter })
    const now = Date.now()
    clock.mockRestore()
    return { written, now }
  }

  test('is removed with the time by which it has expired, which Kafka refuses if it is wrong', async () => {
    const { written, now } = await removals({ aheadMs: 3 * HOUR, isRightLater: false })
    expect(written).toMatchObject([{ key: 'session/abc', value: null, timestamp: String(now) }])
  })

  test('stays if the clock was only wrong while Kafka was away', async () => {
    expect((await removals({ aheadMs: 3 * HOUR, isRightLater: true })).written).toEqual([])
    expect((await removals({ aheadMs: HOUR, isRightLater: false })).written).toEqual([])
  })
})
