import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Gap, gapFinder } from '../../cli/api/missed-calls.ts'
import { listen } from '../../cli/api/stream.ts'
import type { CliError } from '../../cli/context.ts'
import { run } from '../../cli/run.ts'
import { until } from '../helpers/until.ts'
import { aContext } from './in-memory.ts'

/** Until the end of the test. @returns its address */
async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const CALL = { messageId: 'm1', sourceId: 'shop', type: 'track', event: 'Paid' }

function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders()
  return response
}

test('goes on while control starts, or a proxy in front of it answers 5xx', async () => {
  const reader = new AbortController()
  let asked = 0
  const SLUICE_URL = await serving((_, response) => {
    asked += 1
    if (asked === 1) stream(response).end('event: ready\ndata: {}\n\n')
    else if (asked === 2) response.writeHead(503).end('<html>')
    else stream(response).write(`event: call\nid: 1\ndata: ${JSON.stringify(CALL)}\n\n`)
  })
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'x' } })
  const out = { ...context.out, closed: reader.signal }
  const ended = run(['tail', 'shop', '--json'], { ...context, out })
  await until(() => context.out.said.length === 2)
  reader.abort()
  expect(await ended).toBe(0)
  expect(context.out.said[1]).toBe(`{"event":"call","data":${JSON.stringify(CALL)}}`)
})

test('prints every report of skipped calls, even if the number repeats', async () => {
  const reader = new AbortController()
  const SLUICE_URL = await serving((_, response) => {
    const skipped = 'event: skipped\ndata: {"count":99,"reason":"rate"}\n\n'
    stream(response).write(`${skipped}${skipped}event: call\nid: 1\ndata: ${JSON.stringify(CALL)}\n\n`)
  })
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'x' } })
  const out = { ...context.out, closed: reader.signal }
  const ended = run(['tail', 'shop'], { ...context, out })
  await until(() => context.out.said.some((line) => line.includes('Paid')))
  reader.abort()
  await ended
  const line = 'skipped  99  more than 100 a second'
  expect(context.out.said.slice(0, 2)).toEqual([line, line])
})

test('prints once what a stream that is opened again repeats', async () => {
  const reader = new AbortController()
  const rejected = { sourceId: 'shop', code: 'too_deep', message: 'Too deep.', raw: '{}' }
  const attempt = { messageId: 'm1', destinationId: 'crm', attempt: 1, outcome: 'delivered', status: 200 }
  const repeated = [
    `event: call\nid: 1\ndata: ${JSON.stringify(CALL)}\n\n`,
    `event: rejected\nid: 2\ndata: ${JSON.stringify(rejected)}\n\n`,
    `event: attempt\ndata: ${JSON.stringify(attempt)}\n\n`,
  ]
  const last = { ...CALL, event: 'Last' }
  const SLUICE_URL = await serving((_, response) => {
    stream(response).write(
      [...repeated, ...repeated, `event: call\nid: 3\ndata: ${JSON.stringify(last)}\n\n`].join(''),
    )
  })
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'x' } })
  const out = { ...context.out, closed: reader.signal }
  const ended = run(['tail', 'shop', '--json'], { ...context, out })
  await until(() => context.out.said.some((line) => line.includes('Last')))
  reader.abort()
  await ended
  const events = context.out.said.map((line) => JSON.parse(line).event)
  expect(events).toEqual(['call', 'rejected', 'attempt', 'call'])
})

const secondOf = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString()

/** Each stream ends after `ready`, or breaks before it (`undefined`). Its calls are numbered, one a second. */
function gapsIn(streams: readonly (readonly number[])[], broken: readonly number[] = []) {
  const finder = gapFinder()
  const seen = new Set<number>()
  return streams.map((calls, index): Gap | undefined => {
    finder.opened()
    for (const call of calls) {
      const data = { receivedAt: secondOf(call) }
      finder.received({ event: call % 2 ? 'call' : 'rejected', id: String(call), data }, !seen.has(call))
      seen.add(call)
    }
    if (broken.includes(index)) return undefined
    return finder.received({ event: 'ready', id: undefined, data: { calls: calls.length } }, true)
  })
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe('a stream that is opened again', () => {
  test('has missed nothing if it repeats a call', () => {
    expect(gapsIn([range(0, 50), range(49, 99), range(49, 99)])).toEqual([undefined, undefined, undefined])
  })

  test('may have missed calls if it repeats none: those between the last one and ten seconds after the first', () => {
    expect(gapsIn([range(0, 50), range(51, 101)])[1]).toEqual({ since: secondOf(49), until: secondOf(61) })
  })

  test('counts calls that came after the beginning of the earlier stream', () => {
    const finder = gapFinder()
    const call = { event: 'call', id: '1', data: { receivedAt: secondOf(1) } }
    const ready = { event: 'ready', id: undefined, data: { calls: 0 } }
    finder.opened()
    finder.received(ready, true)
    finder.received(call, true)
    finder.opened()
    expect(finder.received(ready, true)).toEqual({ since: secondOf(1), until: undefined })
    finder.opened()
    finder.received(call, false)
    expect(finder.received(ready, true)).toBeUndefined()
  })

  test('has missed nothing if there was no call before and it begins with fewer than fifty', () => {
    expect(gapsIn([[], range(0, 49)])).toEqual([undefined, undefined])
    expect(gapsIn([[], range(0, 50)])[1]).toEqual({ since: undefined, until: secondOf(10) })
  })

  test('reports the gap later if it breaks at its beginning', () => {
    const streams = [range(0, 50), range(60, 70), range(60, 110)]
    expect(gapsIn(streams, [1])).toEqual([undefined, undefined, { since: secondOf(49), until: secondOf(70) }])
    // the first one that is complete has nothing before it
    expect(gapsIn(streams, [0, 1])[2]).toBeUndefined()
  })
})

test.each([
  [
    ['shop'],
    `missed  Calls may be missing above. To find them: sluice events find --source shop --since ${secondOf(2)} --until ${secondOf(15)}`,
  ],
  [['events', '--json'], `{"event":"missed","data":{"since":"${secondOf(2)}","until":"${secondOf(15)}"}}`],
])('%j prints that calls may be missing, and how to find them', async (args, line) => {
  const callsOf = (calls: number[]) =>
    calls.map((call) => {
      const data = JSON.stringify({ ...CALL, receivedAt: secondOf(call) })
      return `event: call\nid: ${call}\ndata: ${data}\n\n`
    })
  const ready = 'event: ready\ndata: {"calls":3}\n\n'
  let asked = 0
  const SLUICE_URL = await serving((_, response) => {
    asked += 1
    if (asked === 1) stream(response).end([...callsOf([0, 1, 2]), ready].join(''))
    else stream(response).write([...callsOf([5, 6, 7]), ready].join(''))
  })
  const reader = new AbortController()
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'x' } })
  const out = { ...context.out, closed: reader.signal }
  const ended = run(['tail', ...args], { ...context, out })
  const missed = () => context.out.said.filter((each) => each.includes('missed'))
  await until(() => missed().length > 0)
  reader.abort()
  expect(await ended).toBe(0)
  expect(missed()).toEqual([line])
})

test.each([
  [[], []],
  [['--json'], ['{"event":"ended","data":{"code":"source_deleted","message":"Source shop was deleted"}}']],
])('ends with the reason when the source is deleted %j', async (more, printed) => {
  let asked = 0
  const data = JSON.stringify({ code: 'source_deleted', message: 'Source shop was deleted' })
  const SLUICE_URL = await serving((_, response) => {
    asked += 1
    stream(response).end(`event: ended\ndata: ${data}\n\n`)
  })
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'x' } })
  expect(await run(['tail', 'shop', ...more], context)).toBe(1)
  expect(context.err.text()).toBe('The stream has ended: Source shop was deleted (source_deleted)')
  expect([asked, context.out.said]).toEqual([1, printed])
})

test('ends with an error if the answer is not a stream of events', async () => {
  const SLUICE_URL = await serving((_, response) => void response.end('<html>Sign in</html>'))
  const context = aContext({ env: { SLUICE_URL, CONTROL_TOKEN: 'x' } })
  expect(await run(['tail', 'shop'], context)).toBe(1)
  expect(context.err.text()).toBe(
    `${SLUICE_URL} answered 200 without a stream of events: is this the address of control?`,
  )
})

test('a silent stream ends, so that it is opened again', async () => {
  const control = await serving((_, response) => void stream(response).write('event: ready\ndata: {}\n\n'))
  const { signal } = new AbortController()
  // repeats, because a busy machine may take longer than 100 ms to answer
  const seen = await until(async () => {
    const events = await Array.fromAsync(
      listen({ control, token: 'x' }, { path: 'live', signal, silenceMs: 100 }),
    )
    return events.length > 0 && events.map(({ event }) => event)
  })
  expect(seen).toEqual(['ready'])
})

test('a control that accepts the connection and never answers is unreachable', async () => {
  const control = await serving(() => undefined)
  const { signal } = new AbortController()
  const events = listen({ control, token: 'x' }, { path: 'live', signal, silenceMs: 20 })
  const error: CliError = await Array.fromAsync(events).then(
    () => expect.unreachable(),
    (cause) => cause,
  )
  expect([error.code, error.message]).toEqual(['unreachable', expect.stringContaining('does not answer')])
})
