import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createTracer } from '../../trace/otel.ts'
import { until } from '../helpers/until.ts'
import { settings } from './collected.ts'

/** A tracer with a queue of 10 whose collector does as told. */
async function aTracerTo(collect: RequestListener | 'nobody') {
  const warnings: string[] = []
  const server = createServer(collect === 'nobody' ? undefined : collect)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  if (collect === 'nobody') close()
  else onTestFinished(close)
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    OTEL_BSP_SCHEDULE_DELAY: '10',
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
  }
  const tracer = createTracer(settings(env), {
    warn: (...said: unknown[]) => void warnings.push(JSON.stringify(said)),
  })
  return { tracer, warnings }
}

type Traced = Awaited<ReturnType<typeof aTracerTo>>['tracer']

/** @returns how long all of them took to do, in milliseconds. */
function work(tracer: Traced, times: number): number {
  const start = performance.now()
  for (let each = 0; each < times; each++)
    tracer
      .request({ method: 'POST', route: '/v1/track', traceparent: undefined })
      .answered({ code: 'ok', status: 200 })
  return performance.now() - start
}

test('a collector that never answers holds up nobody: what does not fit is dropped, and the end is bounded', async () => {
  let asked = 0
  const { tracer } = await aTracerTo((request) => {
    asked += 1
    request.resume()
  })
  expect(work(tracer, 5_000)).toBeLessThan(2_000)
  await until(() => asked > 0)
  work(tracer, 100)
  const start = performance.now()
  await tracer.close()
  expect(performance.now() - start).toBeLessThan(2_500)
  // of 5,100 spans no more than were queued are on the way
  expect(asked).toBeLessThan(10)
})

test('a collector that is not there is told of once, and nothing else happens', async () => {
  const { tracer, warnings } = await aTracerTo('nobody')
  work(tracer, 1)
  await until(() => warnings.some((said) => said.includes('spans cannot be exported')))
  const told = warnings.length
  work(tracer, 1)
  await tracer.close()
  expect(warnings.filter((said) => said.includes('spans cannot be exported'))).toHaveLength(1)
  expect(told).toBeGreaterThan(0)
})

test('what a collector refuses is lost, and what it takes afterwards is not', async () => {
  let status = 400
  let taken = 0
  const { tracer, warnings } = await aTracerTo((request, response) => {
    request.resume().on('end', () => {
      if (status === 200) taken += 1
      response.writeHead(status).end()
    })
  })
  work(tracer, 1)
  await until(() => warnings.length > 0)
  status = 200
  work(tracer, 1)
  await until(() => taken === 1)
  await tracer.close()
})
