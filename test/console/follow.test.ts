import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { follow, type StreamState } from '../../console/src/api/stream/follow.ts'
import { until } from '../helpers/until.ts'

/** The last answer is repeated. */
async function following(answers: readonly ((response: ServerResponse) => void)[], silenceMs = 5_000) {
  let asked = 0
  const server = createServer((_, response) => answers[Math.min(asked++, answers.length - 1)]?.(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ending = new AbortController()
  const events: string[] = []
  const states: StreamState[] = []
  const done = follow({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    signal: ending.signal,
    onEvent: ({ event, data, id }) => events.push(`${event} ${data} ${id}`),
    onState: (state) => states.push(state),
    silenceMs,
    reconnectMs: 5,
  })
  onTestFinished(async () => {
    ending.abort()
    await done
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { events, states, done, end: () => ending.abort(), asked: () => asked }
}

const stream = (text: string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)

test('events arrive with name, data and id, and a broken stream reconnects', async () => {
  const breaks = (response: ServerResponse) => {
    stream('id: 1\nevent: call\ndata: {"a":1}\n\n')(response)
    setImmediate(() => response.destroy())
  }
  const { events, states } = await following([breaks, stream('event: ready\ndata: {}\n\n')])
  await until(() => events.length === 2)
  expect(events).toEqual(['call {"a":1} 1', 'ready {} undefined'])
  expect(states.map(({ is }) => is)).toEqual(['connecting', 'open', 'lost', 'open'])
})

test('a refused stream reports the error of the API', async () => {
  const problem = { code: 'too_many_watchers', message: 'As many as may watch do already', errors: [] }
  const { states } = await following([
    (response) => void response.writeHead(429).end(JSON.stringify(problem)),
  ])
  await until(() => states.at(-1)?.is === 'lost')
  expect(states.at(-1)).toMatchObject({
    is: 'lost',
    failures: 1,
    error: { status: 429, message: problem.message },
  })
})

test('503 from a starting control is retried as soon as no answer', async () => {
  const starting = (response: ServerResponse) =>
    void response.writeHead(503).end(JSON.stringify({ code: 'unavailable', message: '', errors: [] }))
  const { events } = await following([starting, stream('event: ready\ndata: {}\n\n')])
  // 429 would wait longer
  await until(() => events.length === 1, { timeout: 5_000 })
})

test('a stream that ends for good is not opened again, and has the reason', async () => {
  const ended = 'event: ended\ndata: {"code":"source_deleted","message":"Source shop was deleted"}\n\n'
  const { events, states, done, asked } = await following([
    (response) => {
      stream(`event: ready\ndata: {}\n\n${ended}`)(response)
      response.end()
    },
  ])
  await done
  expect([events, asked()]).toEqual([['ready {} undefined'], 1])
  expect(states.at(-1)).toMatchObject({
    is: 'ended',
    error: { code: 'source_deleted', message: 'Source shop was deleted' },
  })
})

test('a stream that was open and is not found afterwards has ended', async () => {
  const missing = (response: ServerResponse) =>
    void response
      .writeHead(404)
      .end(JSON.stringify({ code: 'not_found', message: 'There is no source shop', errors: [] }))
  const breaks = (response: ServerResponse) => {
    stream('event: ready\ndata: {}\n\n')(response)
    setImmediate(() => response.destroy())
  }
  const { states, done } = await following([breaks, missing])
  await done
  expect(states.at(-1)).toMatchObject({ is: 'ended', error: { message: 'There is no source shop' } })
  const created = await following([missing])
  await until(() => created.states.at(-1)?.is === 'lost')
})

test('a silent stream reconnects, and failures in a row are counted', async () => {
  const silent = await following([stream(': still here\n\n')], 20)
  await until(() => silent.asked() > 2)
  expect(silent.states).toContainEqual(expect.objectContaining({ is: 'lost', failures: 1 }))
  const { states } = await following([(response) => void response.destroy()])
  await until(() => states.length > 3)
  expect(states.slice(0, 4).map((state) => (state.is === 'lost' ? state.failures : state.is))).toEqual([
    'connecting',
    1,
    2,
    3,
  ])
})

test('an aborted stream reports nothing more', async () => {
  const { events, done, end, states } = await following([stream('event: ready\ndata: {}\n\n')])
  await until(() => events.length === 1)
  end()
  await done
  expect(states.at(-1)).toEqual({ is: 'open' })
})
