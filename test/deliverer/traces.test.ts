import { expect, test } from 'vitest'
import { attempt } from '../../deliverer/attempt.ts'
import type { Settlement } from '../../deliverer/decide.ts'
import { Settler } from '../../deliverer/settle.ts'
import type { Contents } from '../../kafka/consume/record.ts'
import { inTrace } from '../../kafka/consume/spans.ts'
import { ofDelivery } from '../../trace/trace.ts'
import { aDelivery, aDestination } from '../helpers/events.ts'
import { aTracer, SAMPLED } from '../trace/collected.ts'

const url = 'https://user.example:8443/secret?token=secret'

function taken({ tracer }: Pick<ReturnType<typeof aTracer>, 'tracer'>, value = aDelivery()) {
  const parked: Contents['headers'][] = []
  const record = {
    topic: 'deliveries',
    partition: 0,
    offset: 0,
    timestamp: 0,
    key: 'crm/the-user',
    value,
    settle: () => undefined,
    owned: () => true,
    release: () => undefined,
    park: ({ headers }: Contents) => void parked.push(headers),
  }
  const headers = { traceparent: SAMPLED }
  const where = { topic: 'deliveries', group: 'deliverer', headers, describe: ofDelivery }
  return { record: inTrace(tracer, record, where), parked }
}

const aSettler = () =>
  new Settler({
    producer: { produce: async () => 'acked' },
    attemptProducer: { produce: async () => 'acked', stalledMs: () => 0 },
    ladder: { ladder: [rung] },
    deliveries: { encode: () => Buffer.alloc(1) },
    attempts: { encode: () => Buffer.alloc(1) },
    onSettled: () => undefined,
    onFatal: () => undefined,
  })

const rung = { name: '5s', delayMs: 5_000 }
const delivery = aDelivery({ attempt: 1 })

test.each<[Settlement, string | undefined]>([
  [{ kind: 'done' }, undefined],
  [{ kind: 'retry', rung, dueAt: 0, delivery }, undefined],
  [{ kind: 'dead', reason: 'window_expired', delivery }, 'window_expired'],
])('an attempt records what came next: %j', async (result, error) => {
  const traces = aTracer()
  aSettler().settle(taken(traces).record, result)
  await new Promise(setImmediate)
  const spans = await traces.ended()
  const process = spans.find(({ name }) => name === 'process deliveries')
  expect(process).toMatchObject({
    isError: error !== undefined,
    attributes: { 'sluice.outcome': result.kind },
  })
  expect(process?.attributes['error.type']).toBe(error)
})

test('a parked delivery keeps its trace', async () => {
  const traces = aTracer()
  const { record, parked } = taken(traces)
  aSettler().park(record, 'a fault')
  const [span] = await traces.ended()
  expect(span?.attributes['error.type']).toBe('parked')
  expect(parked).toEqual([{ traceparent: `00-${span?.traceId}-${span?.spanId}-01` }])
})

test('the span of a POST has its host, attempt and outcome', async () => {
  const traces = aTracer()
  const destination = aDestination({ webhooks: [{ url, headers: { 'X-Key': 'secret' } }] })
  const value = aDelivery({ destinationId: destination.id, attempt: 2 })
  const sent: Record<string, string>[] = []
  attempt(
    {
      record: taken(traces, value).record,
      targets: [{ urlIndex: 0, url, webhook: 'crm 0', origin: new URL(url).origin }],
      done: () => undefined,
    },
    {
      lane: {
        offer: (_, job) =>
          void job.begin({ connected: () => undefined, ended: () => undefined, release: () => undefined }),
      },
      poster: {
        post({ headers }, listener) {
          sent.push(headers)
          listener.onOutcome({ outcome: 'retry', code: 'timeout' }, 5_000, true)
          listener.onEnd(null)
        },
      },
      destination: () => destination,
      onAttempt: () => undefined,
    },
  )
  const [post] = await traces.ended()
  expect(post).toMatchObject({
    name: 'POST',
    isError: true,
    attributes: {
      'server.address': 'user.example',
      'server.port': 8443,
      'sluice.attempt': 3,
      'http.request.resend_count': 2,
      'sluice.outcome': 'retry',
      'sluice.code': 'timeout',
    },
  })
  expect(JSON.stringify(post)).not.toContain('secret')
  expect(Object.keys(sent[0] ?? {}).map((name) => name.toLowerCase())).not.toContain('traceparent')
})
