import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { NODE_FLAGS } from '../harness/launch.ts'
import { freePort } from '../local/ports.ts'

/** Told to end while it starts: what it opens next finds all closed. */
const ENDED_EARLY = `
  const { run } = await import('${new URL('../lifecycle.ts', import.meta.url)}')
  setInterval(() => {}, 1_000) // a router has open sockets; without any, the process ends before it gets the signal
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

/** Somebody else has its port. */
const PORT_TAKEN = `
  const { createServer } = await import('node:net')
  const { run } = await import('${new URL('../lifecycle.ts', import.meta.url)}')
  const listening = (port) => new Promise((resolve, reject) =>
    createServer().once('error', reject).listen({ port, host: '127.0.0.1' }, resolve))
  await run('router', async ({ config: { port } }) => {
    await listening(port)
    await listening(port)
  })
`

/** It cannot close, as when Kafka does not answer. */
const NEVER_CLOSED = `
  const { run } = await import('${new URL('../lifecycle.ts', import.meta.url)}')
  setInterval(() => {}, 1_000) // an open connection to Kafka would keep the process alive, too
  await run('router', async ({ closing }) => {
    closing.defer(() => new Promise(() => {}))
    process.kill(process.pid, 'SIGTERM')
  }, 100)
`

/** Nothing is asked of them. */
const ENV = {
  PATH: process.env.PATH,
  KAFKA_BROKERS: '127.0.0.1:9',
  SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9',
  CONFIG_KEY: randomBytes(32).toString('base64'),
}

function runScript(script: string, more: NodeJS.ProcessEnv = {}): Promise<{ code: number; said: string }> {
  const args = [...NODE_FLAGS, '--input-type=module', '--eval', script]
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { env: { ...ENV, ...more } }, (_error, out, err) =>
      resolve({ code: child.exitCode ?? -1, said: out + err }),
    )
  })
}

test('a process that is ended while it starts exits with 0 and logs no failure', async () => {
  const { code, said } = await runScript(ENDED_EARLY)
  expect(said).toContain('"reason":"SIGTERM"')
  expect(said).not.toContain('fatal')
  expect(code).toBe(0)
})

test('a process whose port is in use names the setting', async () => {
  const { code, said } = await runScript(PORT_TAKEN, { ROUTER_PORT: String(await freePort()) })
  expect(said).toContain('"settings":"ROUTER_PORT"')
  expect(code).toBe(1)
})

test('a process that cannot close everything in time says so before it exits with 1', async () => {
  const { code, said } = await runScript(NEVER_CLOSED)
  expect(said).toContain('closing takes too long: exiting before everything is closed')
  expect(code).toBe(1)
})
