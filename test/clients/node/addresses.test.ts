import dns from 'node:dns'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test, vi } from 'vitest'
import { clientOf, startService, track, warnings } from './service.ts'

function lookUp(...addresses: string[]): void {
  const found = addresses.map((address) => ({ address, family: 4 }))
  const lookup = (_name: string, _options: object, done: (error: null, found: object[]) => void) =>
    done(null, found)
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as never) // the form that Node uses
  onTestFinished(() => spy.mockRestore())
}

const LISTENS_AND_SLEEPS = `
const { createServer } = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
createServer().listen({ ...workerData, backlog: 1 }, () => {
  parentPort.postMessage('listens')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})`

/** Never accepts a connection, as its backlog is full. */
async function startDeaf(host: string, port: number): Promise<void> {
  const worker = new Worker(LISTENS_AND_SLEEPS, { eval: true, workerData: { host, port } })
  onTestFinished(async () => void (await worker.terminate()))
  await once(worker, 'message')
  for (let isConnected = true; isConnected; ) {
    const socket = connect({ host, port }).on('error', () => {})
    onTestFinished(() => void socket.destroy())
    // a turn more: what came while this process was paused counts
    const isLate = sleep(300).then(() => nextTurn(false))
    isConnected = await Promise.race([once(socket, 'connect').then(() => true), isLate])
  }
}

test('after an address that refuses, the next one is tried within the same attempt', async () => {
  const service = await startService()
  const { port } = new URL(service.endpoint)
  lookUp('127.0.0.2', '127.0.0.1')
  const { analytics, failures } = clientOf({ endpoint: `http://several.example:${port}/` }, { maxRetries: 0 })
  analytics.track(track(0))
  await analytics.flush()
  expect(service.arrivals).toHaveLength(1)
  expect(failures).toEqual([])
})

test('after an address that does not respond, the next one is tried after two fifths of the request timeout', async () => {
  const service = await startService()
  const { port } = new URL(service.endpoint)
  await startDeaf('127.0.0.2', Number(port))
  lookUp('127.0.0.2', '127.0.0.1')
  const endpoint = `http://several.example:${port}/`
  warnings()
  // a slow machine may need more than one attempt
  const { analytics, failures } = clientOf({ endpoint }, { requestTimeout: 4_000 })
  const start = performance.now()
  analytics.track(track(0))
  await analytics.flush()
  expect(performance.now() - start).toBeGreaterThanOrEqual(1_590)
  expect(service.arrivals.length).toBeGreaterThanOrEqual(1)
  expect(failures).toEqual([])
})
