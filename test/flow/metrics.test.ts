import { connect, type Socket } from 'node:net'
import got from 'got'
import { expect, onTestFinished, test } from 'vitest'
import { serveOps } from '../../http/probes.ts'
import { closing } from '../helpers/cluster.ts'
import { until } from '../helpers/until.ts'

test('probes and metrics answer whatever the path', async () => {
  let reason: string | undefined = 'not joined'
  const { port } = closing(await serveOps({ host: '127.0.0.1', port: 0, probe: { notReady: () => reason } }))
  const ask = (path: string) =>
    got(`http://127.0.0.1:${port}${path}`, { throwHttpErrors: false, retry: { limit: 0 } })
  expect(await raw(port, 'GET // HTTP/1.1')).toContain('404')
  expect((await ask('/livez?deep=1')).statusCode).toBe(200)
  expect(await ask('/readyz')).toMatchObject({ statusCode: 503, body: 'not joined\n' })
  reason = undefined
  expect((await ask('/readyz')).statusCode).toBe(200)
  expect((await ask('/metrics')).body).toContain('process_cpu_seconds_total')
})

test('busy connections of one network do not keep probes out', async () => {
  const { port } = closing(
    await serveOps({ host: '127.0.0.1', port: 0, probe: { notReady: () => undefined } }),
  )
  const METRICS = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'
  let answered = 0
  const busy = new Set<Socket>()
  function ask(): void {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    busy.add(socket)
    socket
      .on('error', () => {})
      .on('connect', () => socket.write(METRICS))
      .once('data', () => void answered++)
      .on('close', () => busy.delete(socket) && ask())
  }
  for (let count = 0; count < 400; count++) ask()
  onTestFinished(() => {
    const open = [...busy]
    busy.clear()
    for (const socket of open) socket.destroy()
  })
  await until(() => answered > 1_000)
  for (let times = 0; times < 20; times++)
    expect((await got(`http://127.0.0.1:${port}/livez`, { retry: { limit: 0 } })).statusCode).toBe(200)
})

test('no network can take all connections of a probe port', async () => {
  const { port } = closing(
    await serveOps({ host: '127.0.0.1', port: 0, probe: { notReady: () => undefined } }),
  )
  const held = Array.from({ length: 210 }, () =>
    connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }),
  )
  onTestFinished(() => held.forEach((socket) => void socket.destroy()))
  let closed = 0
  for (const socket of held)
    socket
      .resume()
      .on('error', () => {})
      .once('close', () => void closed++)
  await until(() => closed === 10)
  expect((await got(`http://127.0.0.1:${port}/livez`)).statusCode).toBe(200)
  await until(() => closed === 11)
})

function raw(port: number, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\nHost: a\r\n\r\n`))
    socket.once('data', (answer) => {
      resolve(String(answer))
      socket.destroy()
    })
    socket.once('error', reject)
  })
}
