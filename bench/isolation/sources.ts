import { setTimeout as sleep } from 'node:timers/promises'
import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { withAdmin } from '../../harness/kafka/topics.ts'
import { type PreparedSystem, prepareSystem, putDestinations, startRole } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { createProducer, type Producer } from '../../kafka/produce/produce.ts'
import { openReader } from '../../kafka/tables/reader.ts'
import type { Codec } from '../../schemas/codec.ts'
import type { Event } from '../../schemas/event.ts'
import { EMPTY_EVENT } from '../../schemas/event-record.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { ATTEMPTS, DELIVERIES, EVENTS } from '../../schemas/topics.ts'
import { verdict } from '../figures/summary.ts'
import { startSink } from '../receivers/start.ts'
import { highestRss, MB } from '../stack/machine.ts'
import { recordsWritten } from '../stack/topics.ts'

/** Of the busy source. */
const EVENTS_AT_ONCE = 20
const EVENT_BYTES = 30_000
/** Of the quiet source, whose delays are measured. */
const EVERY_MS = 50
const BEFORE_MS = 5_000
const AT_MOST_MS = 240_000

type Delays = { router: number[]; deliverer: number[] }
type Outcome = { destinations: number; seconds: number; rss: number; before: Delays; during: Delays }

export async function bench(): Promise<string> {
  await using stack = await startStack()
  const outcomes: Outcome[] = []
  for (const destinations of [1, 1_000, 10_000]) outcomes.push(await measure(stack, destinations))
  return report(outcomes)
}

async function measure(stack: Stack, destinations: number): Promise<Outcome> {
  await using closing = new AsyncDisposableStack()
  const system = await prepareSystem({ ...stack, sources: [] })
  const sink = closing.adopt(await startSink(), (it) => it.stop())
  const url = `http://127.0.0.1:${sink.port}/`
  const busy = Array.from({ length: destinations }, (_, index) => ({
    id: `busy-${index}`,
    sourceId: 'busy',
    url: `${url}${index}`,
  }))
  await putDestinations(system, [{ id: 'quiet', sourceId: 'quiet', url }, ...busy])
  const router = closing.adopt(await startRole('router', system), async (it) => void (await it.kill()))
  const deliverer = closing.adopt(await startRole('deliverer', system), async (it) => void (await it.kill()))
  const producer = closing.adopt(await createProducer(system.connection), (it) => it.close())
  const { connection, config } = system
  const codec = await openCodec(openRegistry(config.registry), 'event', `${connection.named(EVENTS)}-value`)
  const quiet = startQuiet(producer, codec)
  await sleep(BEFORE_MS)
  const began = Date.now()
  await producer.produce(busyRecords(codec))
  let rss = 0
  const isDone = async () =>
    (await recordsWritten(system, ATTEMPTS)) >= EVENTS_AT_ONCE * destinations + quiet.sent.length - 10
  do [rss = 0] = await highestRss([router.pid], 500).then(([now = 0]) => [Math.max(rss, now)])
  while (!(await isDone()) && Date.now() - began < AT_MOST_MS)
  const ended = Date.now()
  await quiet.stop()
  await sleep(2_000)
  const delays = await delaysOf(system, quiet.sent)
  await Promise.all([router.kill(), deliverer.kill()])
  await dropTopics(system)
  const between = (from: number, to: number): Delays => ({
    router: delays.router.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms),
    deliverer: delays.deliverer.filter(({ at }) => at >= from && at < to).map(({ ms }) => ms),
  })
  const outcome = {
    destinations,
    seconds: (ended - began) / 1_000,
    rss,
    before: between(began - BEFORE_MS / 2, began),
    during: between(began, ended),
  }
  process.stderr.write(`${row(outcome).join(' | ')}\n`)
  return outcome
}

/** Large events of one source at the same time. */
function busyRecords(codec: Pick<Codec<Event>, 'encode'>) {
  const properties = JSON.stringify({ text: 'x'.repeat(EVENT_BYTES) })
  return Array.from({ length: EVENTS_AT_ONCE }, (_, index) => ({
    topic: EVENTS,
    key: `busy/u${index}`,
    value: codec.encode(
      anEvent({ messageId: `b-${index}`, sourceId: 'busy', userId: `u${index}`, properties }),
    ),
  }))
}

const anEvent = (fields: Partial<Event>): Event => ({
  ...EMPTY_EVENT,
  messageId: 'm',
  sourceId: 'quiet',
  type: 'track',
  userId: 'u',
  timestamp: Date.now(),
  receivedAt: Date.now(),
  event: 'Measured',
  ...fields,
})

/** `sent`: when each event was sent, by number. */
function startQuiet(producer: Producer, codec: Codec<Event>) {
  const sent: number[] = []
  const writes: Promise<unknown>[] = []
  const timer = setInterval(() => {
    const messageId = String(sent.length)
    sent.push(Date.now())
    const value = codec.encode(anEvent({ messageId, userId: `u${sent.length % 50}` }))
    writes.push(producer.produce([{ topic: EVENTS, key: `quiet/u${sent.length % 50}`, value }]))
  }, EVERY_MS)
  return {
    sent,
    async stop() {
      clearInterval(timer)
      await Promise.all(writes)
    },
  }
}

type Delay = { at: number; ms: number }

/** From each event until its delivery was written, and until its POST began. Without either, the whole run. */
async function delaysOf({ connection, config }: PreparedSystem, sent: readonly number[]) {
  const registry = openRegistry(config.registry)
  const onFatal = (error: Error) => {
    throw error
  }
  const written = new Map<number, number>()
  const posted = new Map<number, number>()
  async function readAll(topic: string, onValue: (value: Buffer, timestamp: number) => void): Promise<void> {
    const reader = await openReader({ connection, topic, onFatal })
    for (const [partition, { low, high }] of await reader.bounds())
      await reader.read({ partition, from: low, to: high }, (value, _, { timestamp }) => {
        if (value) onValue(value, timestamp)
      })
    await reader.close()
  }
  const deliveries = await openCodec(registry, 'delivery', `${connection.named(DELIVERIES)}-value`)
  const attempts = await openCodec(registry, 'attempt', `${connection.named(ATTEMPTS)}-value`)
  await readAll(DELIVERIES, (value, timestamp) => {
    if (value.length > EVENT_BYTES) return
    const decoded = deliveries.decode(value)
    if (decoded instanceof Promise || !decoded.ok || decoded.value.sourceId !== 'quiet') return
    written.set(Number(decoded.value.messageId), timestamp)
  })
  await readAll(ATTEMPTS, (value) => {
    const decoded = attempts.decode(value)
    if (decoded instanceof Promise || !decoded.ok || decoded.value.sourceId !== 'quiet') return
    posted.set(Number(decoded.value.messageId), decoded.value.startedAt)
  })
  const of = (times: ReadonlyMap<number, number>): Delay[] =>
    sent.map((at, number) => ({ at, ms: (times.get(number) ?? Date.now()) - at }))
  return { router: of(written), deliverer: of(posted) }
}

/** Frees gigabytes of disk. */
async function dropTopics({ connection }: PreparedSystem): Promise<void> {
  const topics = [EVENTS, DELIVERIES, ATTEMPTS].map(connection.named)
  await withAdmin(connection, (admin) => admin.deleteTopics({ topics }))
}

function percentile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const inMs = (figures: readonly number[]) =>
  `${percentile(figures, 0.5).toFixed(0)} / ${percentile(figures, 0.99).toFixed(0)}`

const row = ({ destinations, seconds, rss, before, during }: Outcome) => [
  destinations.toLocaleString('en-US'),
  seconds.toFixed(1),
  inMs(before.router),
  inMs(during.router),
  inMs(before.deliverer),
  inMs(during.deliverer),
  (rss / MB).toFixed(0),
]

function report(outcomes: readonly Outcome[]): string {
  const goals = outcomes.flatMap(({ destinations, rss, during }) => [
    {
      what: `the delay to the write with ${destinations} destinations (p99, ms)`,
      is: percentile(during.router, 0.99),
      atMost: 1_000,
    },
    {
      what: `the delay to the POST with ${destinations} destinations (p99, ms)`,
      is: percentile(during.deliverer, 0.99),
      atMost: 1_000,
    },
    { what: `the router's memory with ${destinations} destinations (MB)`, is: rss / MB, atMost: 300 },
  ])
  const head = [
    'destinations',
    'seconds',
    'write, before',
    'write, during',
    'POST, before',
    'POST, during',
    'router, MB',
  ]
  return `One source sends ${EVENTS_AT_ONCE} events of ${EVENT_BYTES / 1_000} KB at once, each for all of its destinations, which answer 200 at once. Another source
sends an event every ${EVERY_MS} ms for one destination. Its delays are measured, in ms (p50 / p99): from the event's write to the
write of its delivery, and to the start of its POST; before the other source's events, and from then until all of them are
delivered. Real processes with the flags of \`npm start\`. "router, MB" is its highest resident memory.

${markdownTable(head, outcomes.map(row))}

${verdict(goals)}`
}
