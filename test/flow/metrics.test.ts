import { connect } from 'node:net'
import got from 'got'
import { expect, onTestFinished, test, vi } from 'vitest'
import { answerOps, serveOps } from '../../http/probes.ts'
import { registry } from '../../process/metrics.ts'
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

test('concurrent requests for metrics share one collection', async () => {
  const collect = vi.spyOn(registry, 'metrics')
  onTestFinished(() => collect.mockRestore())
  const probe = { notReady: () => undefined }
  const ask = async () => (await answerOps('/metrics', probe)).body
  expect(new Set(await Promise.all([ask(), ask(), ask()])).size).toBe(1)
  expect(collect).toHaveBeenCalledTimes(1)
  await ask()
  expect(collect).toHaveBeenCalledTimes(2)
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
