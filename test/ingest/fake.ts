import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import type { Sender } from '../../ingest/call/authenticate.ts'
import { type AppOptions, createApp } from '../../ingest/http/app.ts'
import { createMeter } from '../../ingest/metrics.ts'
import { createPipeline } from '../../ingest/pipeline.ts'
import { createRejectionLog } from '../../ingest/rejection-log.ts'
import type { Decoded } from '../../kafka/consume/record.ts'
import type { OutRecord, Produced, ProduceOptions, Producer } from '../../kafka/produce/produce.ts'
import { codec } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import type { Rejected } from '../../schemas/rejected.ts'
import { EVENTS, REJECTED } from '../../schemas/topics.ts'
import type { Users } from '../../settings/suppression-list.ts'

export const RECEIVED_AT = Date.parse('2026-01-02T03:04:05.678Z')

const noRegistry = { getSchema: () => Promise.reject(new Error('the tests have no registry')) }
export const codecs = {
  event: codec('event', 7, { client: noRegistry }),
  rejected: codec('rejected', 8, { client: noRegistry }),
}

export const sources = [
  { id: 'shop', writeKey: 'shop-key', enabled: true },
  { id: 'closed', writeKey: 'closed-key', enabled: false },
  { id: 'ops', writeKey: 'ops-key', enabled: true, kind: 'notices' },
] as const

type FakeOptions = {
  outcome?: Produced | Promise<Produced>
  sources?: readonly (Sender & { writeKey: string })[]
  /** It may have any other write key. */
  unreadableSource?: boolean
  /** Milliseconds. */
  clock?: () => number
  suppressedUsers?: (sourceId: string) => Users | undefined
  /** The door's times and bounds. */
  door?: Pick<
    AppOptions,
    'timeouts' | 'heldBytes' | 'unreadBytes' | 'connections' | 'waiting' | 'trustProxy' | 'tracer'
  >
}

export type FakeIngest = {
  app: FastifyInstance
  metrics: Registry
  /** The records of each write. */
  produced: (readonly OutRecord[])[]
  /** The options of each write. */
  options: Pick<ProduceOptions, 'deadlineMs' | 'flow'>[]
  events(): Event[]
  rejected(): Rejected[]
  /** `notReady`: the reason, if any. `isFull`: the queue towards Kafka, also for one source. `storageFull`: Kafka's disk. */
  state: { notReady?: string; isFull?: boolean | string; storageFull?: boolean }
  /** Logged faults of ours. */
  errors: unknown[]
  /** Rejected calls that were not written, by batch. */
  unlogged: number[]
}

/** Kafka always answers the same. */
export function fakeIngest({
  outcome = 'acked',
  sources: known = sources,
  unreadableSource = false,
  clock = () => 0,
  suppressedUsers = () => undefined,
  door = {},
}: FakeOptions = {}): FakeIngest {
  const metrics = new Registry()
  const meter = createMeter(metrics)
  const produced: (readonly OutRecord[])[] = []
  const options: FakeIngest['options'] = []
  const state: FakeIngest['state'] = {}
  const errors: unknown[] = []
  const unlogged: number[] = []
  let ids = 0
  const produce: Producer['produce'] = async (records, how = {}) => {
    produced.push(records)
    options.push(how)
    return outcome
  }
  const taking = createPipeline({
    sourceByWriteKey: (key) =>
      known.find(({ writeKey }) => writeKey === key) ?? (unreadableSource ? 'unreadable' : undefined),
    suppressedUsers,
    now: () => RECEIVED_AT,
    clock,
    newId: () => `made-${++ids}`,
    unavailable: (sourceId) =>
      state.storageFull
        ? 'storage_full'
        : state.isFull === true || (sourceId !== undefined && state.isFull === sourceId)
          ? 'unavailable'
          : undefined,
    produce,
    logRejected: createRejectionLog({
      producer: { produce, stalledMs: () => 0, unwritableMs: () => 0 },
      losses: { lost: (calls) => void unlogged.push(calls), written: () => undefined },
    }),
    encoders: { event: codecs.event.encode, rejected: codecs.rejected.encode },
    meter,
    log: { error: () => {} },
  })
  const probe = { notReady: () => state.notReady }
  const log = { error: (...error: unknown[]) => void errors.push(error) }
  const app = createApp({ ...door, ...taking, meter, probe, log })
  const values = (topic: string) =>
    produced
      .flat()
      .filter((record) => record.topic === topic)
      .map(({ value }) => value)
  return {
    app,
    metrics,
    produced,
    options,
    events: () => values(EVENTS).map((value) => decoded(codecs.event.decode(bytes(value)))),
    rejected: () => values(REJECTED).map((value) => decoded(codecs.rejected.decode(bytes(value)))),
    state,
    errors,
    unlogged,
  }
}

const bytes = (value: unknown) => (Buffer.isBuffer(value) ? value : null)

function decoded<T>(result: Decoded<T> | Promise<Decoded<T>>): T {
  if (result instanceof Promise || !result.ok) throw new Error('a record cannot be decoded')
  return result.value
}

export const basic = (writeKey: string) => `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`

/** JSON, text or bytes, as source `shop`. */
export function post({ app }: FakeIngest, url: string, body: unknown, headers: Record<string, string> = {}) {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return app.inject({
    method: 'POST',
    url,
    payload,
    headers: { authorization: basic('shop-key'), ...headers },
  })
}
