import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createTracer } from '../../trace/otel.ts'
import type { Tracer } from '../../trace/trace.ts'
import { until } from '../helpers/until.ts'
import { settings } from './collected.ts'

type Collect = (spans: number, response: ServerResponse) => void

/** The queue has room for 10. */
async function aTracerTo(collect: Collect | 'nobody', env: Record<string, string> = {}) {
  const warnings: string[] = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    if (collect !== 'nobody') collect(body.resourceSpans[0].scopeSpans[0].spans.length, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  if (collect === 'nobody') close()
  else onTestFinished(close)
  const given = settings({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    ...env,
  })
  const warn = (...said: unknown[]) => void warnings.push(JSON.stringify(said))
  const told = () => warnings.filter((said) => said.includes('spans cannot be exported'))
  return { tracer: createTracer(given, { warn }), told }
}

/** @returns milliseconds */
function work(tracer: Tracer, times: number): number {
  const start = performance.now()
  for (let each = 0; each < times; each++)
    tracer
      .request({ method: 'POST', route: '/v1/track', traceparent: undefined })
      .answered({ code: 'ok', status: 200 })
  return performance.now() - start
}

test('a collector that never answers delays only the shutdown, by at most two seconds', async () => {
  let asked = 0
  const collect = () => {
    asked += 1
  }
  // everything that waits for an answer waits this long
  const timeouts = { OTEL_EXPORTER_OTLP_TIMEOUT: '60000', OTEL_BSP_EXPORT_TIMEOUT: '60000' }
  const { tracer } = await aTracerTo(collect, timeouts)
  expect(work(tracer, 5_000)).toBeLessThan(10_000)
  await until(() => asked > 0)
  const start = performance.now()
  await tracer.close()
  expect(performance.now() - start).toBeLessThan(10_000)
})

test("spans beyond the queue's limit are dropped while the collector is slow", async () => {
  let taken = 0
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const { tracer } = await aTracerTo((spans, response) => {
    if (taken === 0) resolve(response)
    else response.end('{}')
    taken += spans
  })
  work(tracer, 1)
  const first = await promise
  work(tracer, 5_000)
  first.end('{}')
  await until(() => taken > 1)
  await tracer.close()
  expect(taken).toBeLessThan(50)
})

test('a missing collector is logged', async () => {
  const { tracer, told } = await aTracerTo('nobody', { OTEL_EXPORTER_OTLP_TIMEOUT: '200' })
  work(tracer, 1)
  await until(() => told().length === 1)
  await tracer.close()
})

test('spans that a collector refuses are lost and logged once, and later ones are exported', async () => {
  let refused = 0
  let taken = 0
  const { tracer, told } = await aTracerTo((_, response) => {
    if (refused < 3) refused += 1
    else taken += 1
    response.writeHead(taken > 0 ? 200 : 400).end('{}')
  })
  for (const times of [1, 2, 3]) {
    work(tracer, 1)
    await until(() => refused === times)
  }
  work(tracer, 1)
  await until(() => taken === 1)
  await tracer.close()
  expect(told()).toHaveLength(1)
})
