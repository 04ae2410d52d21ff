import { expect, onTestFinished, test } from 'vitest'
import { poster } from '../../../clients/node/post.ts'
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
