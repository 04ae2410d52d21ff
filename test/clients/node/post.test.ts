import { Agent } from 'node:http'
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

test.each([
  ['compresses little', Array.from({ length: 9_000 }, (_, index) => index), true],
  ['compresses more than the service inflates', new Array(200_000).fill(0), false],
])('the service can read a body that %s', async (_what, list, gzipped) => {
  const body = JSON.stringify(list)
  const packed = await pack(body, { gzip: true })
  expect(packed.gzipped).toBe(gzipped)
  const limit = { bytes: 500 * 1024, code: 'batch_too_large' } as const
  const lease = { add: () => true, [Symbol.dispose]: () => {} }
  expect(unpack(packed.bytes, { encoding: packed.gzipped ? 'gzip' : undefined, limit, lease })).toEqual({
    ok: true,
    bytes: Buffer.from(body),
  })
})
