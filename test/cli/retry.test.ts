import { describe, expect, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { crm, shop } from '../control/in-memory.ts'
import { control, operatorOf } from './in-memory.ts'

/** The API's answers to POSTs can be lost. */
function operator(parts: Parameters<typeof control>[1] = {}) {
  const memory = control({ sources: [shop], destinations: [crm] }, parts)
  let isLost = false
  const asked: typeof memory.asked = async (request) => {
    const answer = await memory.asked(request)
    if (isLost && request.method === 'POST') throw new Error('lost on its way')
    return answer
  }
  async function sluice(...args: string[]) {
    const context = await operatorOf({ asked })
    const code = await run(args, context)
    return { code, out: context.out.text(), err: context.err.text() }
  }
  const lose = (lost: boolean) => {
    isLost = lost
  }
  return { sluice, lose, tasks: memory.tasks }
}

describe.each(
  [
    ['delete-user', 'u1'],
    ['replay', 'start', 'crm'],
  ].map((args) => ({ args })),
)('sluice $args whose answer is lost', ({ args }) => {
  test('names the id to repeat it with, and then runs once', async () => {
    const { sluice, lose, tasks } = operator()
    lose(true)
    const { code, err } = await sluice(...args)
    const [, id = ''] = /Retry safely with --id (\S+);/.exec(err) ?? []
    expect([code, id]).toEqual([1, expect.stringMatching(/./)])
    lose(false)
    const again = await sluice(...args, '--id', id)
    expect([again.code, again.err]).toEqual([
      1,
      expect.stringMatching(new RegExp(`${id}.*409 id_taken`, 's')),
    ])
    expect(tasks.map((task) => task.id)).toEqual([id])
  })

  test('also when it may or may not have been written', async () => {
    const unavailable = { ok: false, unavailable: new Error('Kafka is away') } as const
    const { err } = await operator({ taskWriter: { write: async () => unavailable } }).sluice(...args)
    expect(err).toMatch(
      /\(503 unavailable\)\nThe request may have been accepted\. Retry safely with --id made-1;/,
    )
  })

  test('that is refused has not run, and names no id', async () => {
    const { err } = await operator().sluice(...args, '--id', 'NO')
    expect(err).toMatch(/^Refused: /)
    expect(err).not.toContain('Retry safely')
  })
})

test('one line says that a replay that has ended cannot be cancelled', async () => {
  const { sluice } = operator()
  const start = ['replay', 'start', 'crm', '--id', 'one']
  expect((await sluice(...start)).code).toBe(0)
  expect((await sluice('replay', 'cancel', 'one')).code).toBe(0)
  const { code, err } = await sluice('replay', 'cancel', 'one')
  expect([code, err]).toEqual([1, 'Refused: replay one is already cancelled (409 replay_ended)'])
})

test('delete-user prints how many users and delete events were accepted', async () => {
  const { sluice } = operator()
  expect((await sluice('delete-user', 'u1', '--id', 'one')).out).toBe(
    'accepted as one: 1 user, 1 delete event',
  )
})

test('delete-user reads one user per line, without the spaces around it', async () => {
  const memory = control({ sources: [shop], destinations: [crm] })
  const context = { ...(await operatorOf(memory)), readInput: async () => '\ufeffu1\r\n  u 2 \n\n \n' }
  expect(await run(['delete-user', '-'], context)).toBe(0)
  expect(memory.tasks).toMatchObject([{ userIds: ['u1', 'u 2'] }])
})

test.each([
  ['d3-1042', 'deliveries'],
  ['x3-1042', 'dead'],
])('a replay of the entry %s is one of %s', async (entry, what) => {
  const { sluice, tasks } = operator()
  expect(await sluice('replay', 'start', 'crm', '--entry', entry)).toMatchObject({ code: 0 })
  expect(tasks).toMatchObject([{ what, places: [{ partition: 3, offset: 1_042 }] }])
})

test('replays are listed newest first, also for one destination', async () => {
  const { sluice, tasks } = operator()
  expect((await sluice('replay', 'list')).out).toBe('No such replay.')
  for (const id of ['b', 'a', 'c']) await sluice('replay', 'start', 'crm', '--id', id)
  const times = ['2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z', '2026-01-01T00:00:00.000Z']
  for (const [index, task] of tasks.entries()) Object.assign(task, { createdAt: times[index] })
  const [heads, ...lines] = (await sluice('replay', 'list', '--limit', '2')).out.split('\n')
  expect(heads).toMatch(/^started +destination +what +state +read +of +replayed +id$/)
  expect(lines.map((line) => line.split(/ +/))).toEqual([
    [times[1], 'crm', 'dead', 'running', '0', '20', '0', 'a'],
    [times[0], 'crm', 'dead', 'running', '0', '20', '0', 'b'],
  ])
  expect((await sluice('replay', 'list', '--destination', 'other')).out).toBe('No such replay.')
  const { items } = JSON.parse((await sluice('replay', 'list', '--json')).out)
  expect(items.map(({ id }: { id: string }) => id)).toEqual(['a', 'b', 'c'])
})
