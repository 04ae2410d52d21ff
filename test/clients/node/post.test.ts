import { Agent } from 'node:http'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { pack, poster } from '../../../clients/node/post.ts'
import { unpack } from '../../../ingest/http/body.ts'
import { startService } from './service.ts'

test.each([
  ['requestTimeout', { requestTimeout: 50, mostMs: 600_000 }],
  ['what is left for its batch', { requestTimeout: 600_000, mostMs: 50 }],
])('a request that has no answer ends after %s', async (_what, { requestTimeout, mostMs }) => {
  const { endpoint } = await startService(() => 'hang')
  const { post, close } = poster({ endpoint, writeKey: 'k', requestTimeout, agent: {} })
  onTestFinished(close)
  const body = { bytes: Buffer.from('{"batch":[]}'), gzipped: false }
  expect(await post(body, { signal: new AbortController().signal, mostMs })).toMatchObject({
    error: { message: "Timeout awaiting 'request' for 50ms" },
  })
})

test('even while the agent makes no connection, as when a proxy does not respond', async () => {
  const http = new Agent()
  http.createConnection = () => undefined
  const { post } = poster({
    endpoint: 'http://localhost:9/',
    writeKey: 'k',
    requestTimeout: 50,
    agent: { http },
  })
  const body = { bytes: Buffer.from('{"batch":[]}'), gzipped: false }
  expect(await post(body, { signal: new AbortController().signal, mostMs: 600_000 })).toEqual({
    error: Object.assign(new Error("Timeout awaiting 'request' for 50ms"), { code: 'ETIMEDOUT' }),
  })
})

/** Answers once the first number is 1, and then sets it to 2. Its messages are its port and, for each request, 0. */
const ANSWERING = `
const { createServer } = require('node:http')
const { parentPort, workerData } = require('node:worker_threads')
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    parentPort.postMessage(0)
    Atomics.wait(workerData, 0, 0)
    response.end('{"success":true}', () => {
      Atomics.store(workerData, 0, 2)
      Atomics.notify(workerData, 0)
    })
  })
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

test('an answer that came in time counts, although the process was blocked until after the timeout', async () => {
  const state = new Int32Array(new SharedArrayBuffer(4))
  const service = new Worker(ANSWERING, { eval: true, workerData: state })
  onTestFinished(async () => void (await service.terminate()))
  const port = await new Promise((resolve) => service.once('message', resolve))
  const requestTimeout = 2_000
  const { post, close } = poster({
    endpoint: `http://127.0.0.1:${port}/`,
    writeKey: 'k',
    requestTimeout,
    agent: {},
  })
  onTestFinished(close)
  service.once('message', () => {
    const until = performance.now() + requestTimeout
    Atomics.store(state, 0, 1)
    Atomics.notify(state, 0)
    Atomics.wait(state, 0, 1)
    while (performance.now() < until);
  })
  const body = { bytes: Buffer.from('{"batch":[]}'), gzipped: false }
  expect(await post(body, { signal: new AbortController().signal, mostMs: 600_000 })).toMatchObject({
    status: 200,
    brokenBy: undefined,
  })
})

test.each([
  ['compresses little', Array.from({ length: 9_000 }, (_, index) => index), true],
  ['compresses more than the service inflates', new Array(200_000).fill(0), false],
])('the service can read a body that %s', async (_what, list, gzipped) => {
  const body = JSON.stringify(list)
  const packed = await pack(body, { gzip: true })
  expect(packed.gzipped).toBe(gzipped)
  const limit = { bytes: 500 * 1024, code: 'batch_too_large' } as const
  const lease = { add: () => true, [Symbol.dispose]: () => {} }
  const unpacked = unpack(packed.bytes, { encoding: packed.gzipped ? 'gzip' : undefined, limit, lease })
  expect(unpacked.ok && String(unpacked.bytes)).toBe(body)
})
