import { readConfig } from '../../config.ts'
import { markdownTable } from '../../harness/results.ts'
import {
  createNeighbours,
  createRandom,
  createReceivers,
  exponential,
  heavyTailed,
  putInTrouble,
  type Receiver,
} from './traffic.ts'
import { type Costs, createWorld, type World } from './world.ts'

const SEED = 20_260_101
const WARM_MS = 30_000
const MEASURE_MS = 120_000
/** Breakers open, and the delay caused by dying webhooks passes. */
const FIRST_MS = 30_000

/**
 * From the run of fan-out on 2026-11-21. Base: a POST to ten origins; ten thousand origins add their new connections. A
 * deferral costs a third of a POST (deliverer/lane/backpressure.ts, FAST). A move from a rung is assumed to cost its
 * fetch and its write.
 */
const PLAIN: Costs = { take: 8, post: 68, connect: 145, defer: 25, rung: 15 }
const TLS: Costs = { ...PLAIN, connect: 1_000 }

type Case = {
  name: string
  receivers: number
  perSecond: number
  inTrouble: number
  /** Webhooks of one further host. They get calls in turn at this rate, and hang when others get into trouble. */
  neighbours?: { count: number; perSecond: number }
  costs?: Costs
  slots?: number
}

const MANY = { receivers: 10_000, inTrouble: 0.2 }
const cases: readonly Case[] = [
  ...[500, 2_000, 4_000, 5_000, 6_000].flatMap((perSecond) =>
    [0, 0.2].map((inTrouble) => ({ name: 'plain HTTP', receivers: 10_000, perSecond, inTrouble })),
  ),
  {
    name: '1,000 webhooks of one further host hang (400/s more)',
    receivers: 10_000,
    perSecond: 2_000,
    inTrouble: 0,
    neighbours: { count: 1_000, perSecond: 400 },
  },
  { ...MANY, name: 'DELIVERY_SLOTS=2048', perSecond: 4_000, slots: 2_048 },
  { ...MANY, name: 'DELIVERY_SLOTS=2048', perSecond: 6_000, slots: 2_048 },
  { ...MANY, name: 'half of them in trouble', perSecond: 2_000, inTrouble: 0.5 },
  { ...MANY, name: 'half, DELIVERY_SLOTS=2048', perSecond: 2_000, inTrouble: 0.5, slots: 2_048 },
  { ...MANY, name: 'new connections with TLS', perSecond: 2_000, costs: TLS },
  {
    ...MANY,
    name: 'TLS, 250 of the receivers for each process',
    receivers: 250,
    perSecond: 2_000,
    costs: TLS,
  },
]

/** The same on every machine, as the clock is simulated. */
export async function bench({ minutes = MEASURE_MS / 60_000 } = {}): Promise<string> {
  const rows = cases.map((one) => {
    const row = simulate(one, minutes * 60_000)
    process.stderr.write(`${row.join(' | ')}\n`)
    return row
  })
  return `${EXPLAINED}\n\n${markdownTable(HEAD, rows)}`
}

function simulate(one: Case, measureMs: number): string[] {
  const { inTrouble, costs = PLAIN, slots = DEFAULTS.delivery.slots, neighbours } = one
  const random = createRandom(SEED)
  const receivers = createReceivers(one.receivers)
  const beside = createNeighbours(neighbours?.count ?? 0)
  const world = createWorld({ delivery: { ...DEFAULTS.delivery, slots }, costs, random })
  const callUntil = createCalls(one, { receivers, beside, random, onCall: world.come })
  const { waits } = world.counts
  let [start, firstMs, begun] = [{ ...world.counts }, Number.NaN, 0]
  for (let ms = 0; ms < WARM_MS + measureMs; ms++) {
    if (ms === WARM_MS) {
      putInTrouble(receivers, inTrouble, random)
      for (const receiver of beside) receiver.kind = 'silent'
      start = { ...world.counts }
      waits.reset()
      world.counts.late = 0
    }
    if (ms === WARM_MS + FIRST_MS) {
      firstMs = waits.percentile(99) / 1_000
      begun = waits.count
      waits.reset()
    }
    callUntil(ms)
    world.tick()
  }
  return row(one, { world, start, firstMs, begun: begun + waits.count, measureMs })
}

type Calling = {
  receivers: readonly Receiver[]
  beside: readonly Receiver[]
  random: () => number
  onCall: (receiver: Receiver) => void
}

/** @returns a function that makes the calls due until a millisecond; some receivers get far more than others */
function createCalls({ perSecond, neighbours }: Case, { receivers, beside, random, onCall }: Calling) {
  const pick = heavyTailed(receivers.length, random)
  const besideMs = 1_000 / (neighbours?.perSecond ?? 0)
  let [besideDue, besideNext] = [neighbours ? 0 : Number.POSITIVE_INFINITY, 0]
  let due = 0
  return (ms: number): void => {
    for (; due <= ms; due += exponential(1_000 / perSecond, random)) onCall(receivers[pick()] ?? NOBODY)
    for (; besideDue <= ms; besideDue += besideMs) onCall(beside[besideNext++ % beside.length] ?? NOBODY)
  }
}

/** `start`: the counts when webhooks got into trouble. `begun`: first attempts to healthy receivers since then. */
type Simulated = {
  world: World
  start: World['counts']
  firstMs: number
  begun: number
  measureMs: number
}

function row(
  { name, perSecond, inTrouble, slots = DEFAULTS.delivery.slots }: Case,
  { world, start, firstMs, begun, measureMs }: Simulated,
): string[] {
  const { counts } = world
  const since = (what: Exclude<keyof World['counts'], 'waits' | 'late'>) => counts[what] - start[what]
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`
  return [
    `${name}, ${perSecond.toLocaleString('en-US')}/s`,
    `${inTrouble * 100} %`,
    percent(Math.min(1, begun / since('cameFine'))),
    firstMs.toFixed(1),
    (counts.waits.percentile(50) / 1_000).toFixed(1),
    (counts.waits.percentile(99) / 1_000).toFixed(1),
    percent(since('busyMs') / measureMs),
    percent(since('spent') / since('posts')),
    (since('deferred') / since('came')).toFixed(2),
    ((since('opened') / since('posts')) * 1_000).toFixed(0),
    `${counts.late} of ${slots}`,
    world.waitingInKafka().toLocaleString('en-US'),
  ]
}

const NOBODY: Receiver = { webhook: '', origin: '', kind: 'fine' }

const HEAD = [
  ...[
    'one deliverer',
    'in trouble',
    'fine: begun',
    'p99 ms, first',
    'p50 ms, then',
    'p99 ms, then',
    'CPU of a core',
    'POSTs to silent, failing',
  ],
  ...['deferrals a call', 'new connections per 1,000 POSTs', 'late slots, most', 'left in Kafka'],
]

const DEFAULTS = readConfig(
  {
    KAFKA_BROKERS: '127.0.0.1:9092',
    SCHEMA_REGISTRY_URL: 'http://127.0.0.1',
    CONFIG_KEY: Buffer.alloc(32, 'key of a bench').toString('base64'),
  },
  'deliverer',
)

const EXPLAINED = `A simulation, not a measurement: one deliverer of many, with its real decisions (lanes, caps, breakers, queues, deferral,
ladder; default settings) on a simulated clock, and 10,000 receivers, the n-th of which gets 1/n of what the first gets.
All are healthy for ${WARM_MS / 1_000} s, then some get into trouble at once, and the next ${MEASURE_MS / 60_000} minutes are observed. Of those in trouble
half never answer, a quarter answer 503 and a quarter answer after 2 s; the others answer after 20 ms or more (60 on
average). Kafka and the network take no time. A POST takes the CPU that fan-out measured on 2026-11-21 (${PLAIN.take + PLAIN.post} us, and ${PLAIN.connect} for a new
connection; ${TLS.connect} with TLS), and a deferral an estimate (${PLAIN.defer} us, and ${PLAIN.rung} when it is due).

"Fine: begun" is the share of first attempts to healthy receivers that had been posted by the end; milliseconds are from
Kafka to the wire, in the first ${FIRST_MS / 1_000} s and in those that follow. docs/understand/scale.md says what this means for a system
of many processes.`
