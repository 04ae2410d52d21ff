import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { follow, type StreamState } from '../../console/src/api/stream/follow.ts'
import { until } from '../helpers/until.ts'

/** A server whose answers come in this order, the last one again and again; and who follows it. */
async function following(answers: readonly ((response: ServerResponse) => void)[], silenceMs = 5_000) {
  let asked = 0
  const server = createServer((_, response) => answers[Math.min(asked++, answers.length - 1)]?.(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ending = new AbortController()
  const told: string[] = []
  const states: StreamState[] = []
  const done = follow({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    signal: ending.signal,
    onTold: ({ event, data, id }) => told.push(`${event} ${data} ${id}`),
    onState: (state) => states.push(state),
    silenceMs,
    againMs: 5,
  })
  onTestFinished(async () => {
    ending.abort()
    await done
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { told, states, done, end: () => ending.abort(), asked: () => asked }
}

const stream = (text: string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)

test('what is told comes with its name, data and id, and a break is mended by itself', async () => {
  const breaks = (response: ServerResponse) => {
    stream('id: 1\nevent: call\ndata: {"a":1}\n\n')(response)
    setImmediate(() => response.destroy())
  }
  const { told, states } = await following([breaks, stream('event: ready\ndata: {}\n\n')])
  await until(() => told.length === 2)
  expect(told).toEqual(['call {"a":1} 1', 'ready {} undefined'])
  expect(states.map(({ is }) => is)).toEqual(['connecting', 'open', 'lost', 'open'])
})

test('why it was refused is known, as the API says it', async () => {
  const problem = { code: 'too_many_watchers', message: 'As many as may watch do already', errors: [] }
  const { states } = await following([
    (response) => void response.writeHead(429).end(JSON.stringify(problem)),
  ])
  await until(() => states.at(-1)?.is === 'lost')
  expect(states.at(-1)).toMatchObject({
    is: 'lost',
    times: 1,
    error: { status: 429, message: problem.message },
  })
})

test('a control that is just starting is asked again as soon as one that does not answer', async () => {
  const starting = (response: ServerResponse) =>
    void response.writeHead(503).end(JSON.stringify({ code: 'unavailable', message: '', errors: [] }))
  const { told } = await following([starting, stream('event: ready\ndata: {}\n\n')])
  // at once, where 429 would be waited for
  await until(() => told.length === 1, { timeout: 5_000 })
})

test('one that says nothing, not even that it is there, is begun again; how often in vain is counted', async () => {
  const silent = await following([stream(': still here\n\n')], 20)
  await until(() => silent.asked() > 2)
  expect(silent.states).toContainEqual(expect.objectContaining({ is: 'lost', times: 1 }))
  const { states } = await following([(response) => void response.destroy()])
  await until(() => states.length > 3)
  expect(states.slice(0, 4).map((state) => (state.is === 'lost' ? state.times : state.is))).toEqual([
    'connecting',
    1,
    2,
    3,
  ])
})

test('who wants it no more is told nothing more', async () => {
  const { told, done, end, states } = await following([stream('event: ready\ndata: {}\n\n')])
  await until(() => told.length === 1)
  end()
  await done
  expect(states.at(-1)).toEqual({ is: 'open' })
})
