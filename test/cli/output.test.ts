import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { run } from '../../cli/run.ts'
import { createFigures } from '../../control/activity/figures/figures.ts'
import { createHealth } from '../../control/activity/health/health.ts'
import type { Attempt } from '../../schemas/attempt.ts'
import { type Task, taskKey } from '../../schemas/task.ts'
import { anAttempt } from '../control/attempts-in-memory.ts'
import { crm as recentCrm } from '../control/in-memory.ts'
import { aLagItem, lagHeld } from '../control/lag-in-memory.ts'
import { aDeletion, aReplay, tasksInMemory } from '../control/tasks-in-memory.ts'
import { aContext, control, NOW, operatorOf } from './in-memory.ts'

const crm = { ...recentCrm, updatedAt: '2026-01-01T00:00:00.000Z' }

async function told(
  args: string,
  tasks: readonly Task[],
  items = [aLagItem()],
  missing: string[] = [],
): Promise<string[]> {
  const held = tasksInMemory()
  for (const task of tasks) held.known.apply(taskKey(task), task)
  const context = await operatorOf(
    control(
      {},
      { tasks: held.tasks, ...lagHeld(items, { latest: () => ({ at: 0, items, ends: [], missing }) }) },
    ),
  )
  expect(await run(args.split(' '), context)).toBe(0)
  return context.out.said
}

describe('replay show', () => {
  const line = 'replay r1 is running: 0 of 20 records read, 0 replayed'

  test('shows the progress', async () => {
    expect(await told('replay show r1', [aReplay()])).toEqual([line])
  })

  test('shows the number of parked records, and why the replay ended', async () => {
    const cause = { code: 'destination_removed', message: 'Its destination\nis not there any more' }
    const replay = aReplay({ state: 'cancelled', parked: 2, cause })
    expect(await told('replay show r1', [replay])).toEqual([
      `${line.replace('running', 'cancelled')}, 2 could not be replayed (see topic parked)`,
      'Its destination\\nis not there any more',
    ])
  })
})

describe('lag', () => {
  const lines = [
    'group   topic   partitions  lag  seconds  status',
    'router  events  1           10   1.5      ok',
  ]

  test('has one line per group and topic, and one per partition that is not ok', async () => {
    const items = [
      aLagItem({ lagSeconds: null }),
      aLagItem({ partition: 1, lag: 300, lagSeconds: 75.5, status: 'stall' }),
      aLagItem({ partition: 2, status: 'warn' }),
      aLagItem({ partition: 3, status: 'stall' }),
      aLagItem({ group: 'replay.r1', lagSeconds: null }),
    ]
    expect(await told('lag', [], items)).toEqual([
      'group      topic   partitions  lag  seconds  status',
      'router     events  4           330  75.5     2 stall, 1 warn',
      'replay.r1  events  1           10   -        ok',
      '',
      'group   topic   partition  end  committed  lag  seconds  status',
      'router  events  1          100  90         300  75.5     stall',
      'router  events  2          100  90         10   1.5      warn',
      'router  events  3          100  90         10   1.5      stall',
    ])
  })

  test('lists each partition with --partitions', async () => {
    const items = [0, 1].map((partition) => aLagItem({ partition }))
    expect(await told('lag --partitions', [], items)).toEqual([
      'group   topic   partition  end  committed  lag  seconds  status',
      'router  events  0          100  90         10   1.5      ok',
      'router  events  1          100  90         10   1.5      ok',
    ])
  })

  test('names topics that do not exist, and shows the groups that need them as not ok', async () => {
    const note = ['', 'Topic deliveries does not exist. Restart any Sluice process to create it.']
    expect(await told('lag', [], [aLagItem()], ['deliveries'])).toEqual([
      'group      topic       partitions  lag  seconds  status',
      'deliverer  deliveries  0           -    -        topic missing',
      'router     events      1           10   1.5      ok',
      ...note,
    ])
    expect(await told('lag --partitions --group deliverer', [], [], ['deliveries'])).toEqual([
      'group      topic       partition  end  committed  lag  seconds  status',
      'deliverer  deliveries  -          -    -          -    -        topic missing',
      ...note,
    ])
  })

  test('has no further lines if there are no unfinished tasks', async () => {
    expect(await told('lag', [])).toEqual(lines)
  })

  test('ends with the unfinished tasks of control', async () => {
    const createdAt = new Date(Date.now() - 90_000).toISOString()
    const said = await told('lag', [aDeletion({ id: 'd1', createdAt }), aDeletion({ id: 'd2' }), aReplay()])
    expect(said.slice(0, -4)).toEqual(lines)
    expect(said.slice(-4)).toEqual([
      '',
      expect.stringMatching(/^unfinished +count +oldest, seconds$/),
      expect.stringMatching(/^deletion +2 +\d+(\.\d)?$/),
      expect.stringMatching(/^replay +1 +\d+(\.\d)?$/),
    ])
  })
})

describe('health', () => {
  async function of(args: string, attempts: readonly Attempt[]): Promise<string[]> {
    const figures = createFigures(() => NOW)
    const health = createHealth({ destinations: new Map([[crm.id, crm]]), figures, now: () => NOW })
    health.begin([])
    for (const attempt of attempts) {
      figures.attempt(attempt)
      health.attempt(attempt)
    }
    const context = await operatorOf(control({ destinations: [crm] }, { health }))
    expect(await run(args.split(' '), context)).toBe(0)
    return context.out.said
  }
  const rejected = anAttempt({ startedAt: NOW - 800, outcome: 'rejected', status: 404, code: 'http_404' })

  test('shows the status of a rejecting destination', async () => {
    expect(await of('health', [anAttempt({ startedAt: NOW - 900 }), rejected])).toEqual([
      'destination  state           delivered  rejected  failed  dead',
      'crm          rejecting: 404  1          1         0       0',
      expect.stringContaining('Counts cover the last minute.'),
    ])
  })

  test('counts refused attempts as failed', async () => {
    const refused = { outcome: 'refused', status: null, code: 'tls_expired' } as const
    const attempts = [refused, refused, { outcome: 'retry', status: 500, code: 'http_5xx' } as const]
    const said = await of(
      'health',
      attempts.map((fields) => anAttempt({ startedAt: NOW - 900, ...fields })),
    )
    expect(said.at(1)).toMatch(/^crm +failing +0 +0 +3 +0$/)
  })

  test('shows each webhook of one destination', async () => {
    expect(await of('health crm', [rejected])).toEqual([
      'webhook  state           breaker  last delivered  last error  at',
      '0        rejecting: 404  closed   -               404         2026-01-02T03:04:04.878Z',
    ])
  })

  test('is named by status, which does not count webhooks', async () => {
    expect(await of('status', [rejected])).toEqual([
      'OK: nothing is wrong with the system.',
      'Webhooks in trouble: crm (rejecting: 404). See sluice health.',
    ])
    expect(await of('status', [anAttempt({ startedAt: NOW - 900 })])).toEqual(['OK: nothing is wrong.'])
  })

  test('shows a healthy destination', async () => {
    expect((await of('health', [anAttempt({ startedAt: NOW - 900 })])).at(1)).toMatch(/^crm +healthy +1 +0 /)
  })
})

test.each([
  ['breaks off', 'Content-Length: 99\r\n\r\n{'],
  ['has a wrong chunk', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'],
  ['is not the gzip that it announces', 'Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}'],
])('tail reports a refusal that %s, without the token', async (_, rest) => {
  const server = createServer((socket) =>
    socket.once('data', () => socket.end(`HTTP/1.1 502 Bad\r\n${rest}`)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const SLUICE_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'a-secret-token' } })
  expect(await run(['tail', 'shop'], context)).toBe(1)
  expect(context.err.text()).toBe('Refused: status 502')
})

test('send escapes what ingest answers', async () => {
  const body = '\u001b]0;x\u0007'
  const server = createServer((socket) =>
    socket.once('data', () =>
      socket.end(`HTTP/1.1 400 Bad\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    ),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const SLUICE_INGEST_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = {
    SLUICE_URL: 'http://127.0.0.1:1',
    CONTROL_TOKEN: 'x',
    SLUICE_INGEST_URL,
    SLUICE_WRITE_KEY: 'write-key',
  }
  const context = aContext({ env })
  expect(await run(['send', 'track', '--user', 'u1', '--event', 'E'], context)).toBe(1)
  expect(context.out.text()).toMatch(/^400 \\u001b]0;x\\u0007 {2}messageId /)
})
