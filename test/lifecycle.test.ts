import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { NODE_FLAGS } from './helpers/node-flags.ts'

/** A router that is told to end while it starts: what it opens next finds all closed. */
const ENDED_EARLY = `
  const { run } = await import('${new URL('../lifecycle.ts', import.meta.url)}')
  await run('router', async ({ closing }) => {
    const closed = Promise.withResolvers()
    let close
    closing.defer(() => new Promise((resolve) => { close = resolve; closed.resolve() }))
    process.kill(process.pid, 'SIGTERM')
    await closed.promise
    setImmediate(close)
    closing.defer(() => undefined)
  })
`

/** Nothing is asked of them. */
const ENV = {
  PATH: process.env.PATH,
  KAFKA_BROKERS: '127.0.0.1:9',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
  CONFIG_KEY: randomBytes(32).toString('base64'),
}

function runScript(script: string): Promise<{ code: number; said: string }> {
  const args = [...NODE_FLAGS, '--input-type=module', '--eval', script]
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { env: ENV }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, said: out + err }),
    )
  })
}

test('a process that is told to end while it starts ends with 0, and says nothing of a failure', async () => {
  const { code, said } = await runScript(ENDED_EARLY)
  expect(said).toContain('"reason":"SIGTERM"')
  expect(said).not.toContain('fatal')
  expect(code).toBe(0)
})
