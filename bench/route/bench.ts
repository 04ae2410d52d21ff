import { setTimeout as sleep } from 'node:timers/promises'
import { startStack } from '../../harness/kafka/stack.ts'
import type { Launched } from '../../harness/launch.ts'
import { type PreparedSystem, prepareSystem, putDestinations, startRole } from '../../harness/prepare.ts'
import { markdownTable } from '../../harness/results.ts'
import { createProducer } from '../../kafka/produce/produce.ts'
import type { Event } from '../../schemas/event.ts'
import { openCodec, openRegistry } from '../../schemas/registry.ts'
import { EVENTS } from '../../schemas/topics.ts'
import { type Counter, cells, type Figures, runAlone } from '../figures/alternate.ts'
import { countIn, median, spread, verdict } from '../figures/summary.ts'
import { events } from '../load/calls.ts'
import { type Forked, forkScript } from '../stack/forked.ts'
import { pin } from '../stack/machine.ts'
import { rulesSection } from './rules.ts'

const MEASURE_MS = 3_000
const WARM_MS = 6_000
const BACKLOG = 1_400_000
const MEASURED_CORE = 0
const OTHER_CORE = 1

type Round = { bare: Figures; sluice: Figures }

export async function bench({ rounds = 4 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await pin(stack.brokerPid, OTHER_CORE)
  const source = { id: 'bench', writeKey: 'bench-write-key', enabled: true }
  const system = await prepareSystem({ ...stack, sources: [source] })
  await putDestinations(system, [{ id: 'bench', sourceId: 'bench', url: 'http://127.0.0.1:9/' }])
  await fillEvents(system, BACKLOG)

  const bare = closing.adopt(forkScript(new URL('./bare-route.ts', import.meta.url)), (it) => it.stop())
  process.kill(bare.pid, 'SIGSTOP')
  const router = closing.adopt(await startRole('router', system), async (it) => void (await it.kill()))
  await Promise.all([bare.pid, router.pid].map((pid) => pin(pid, MEASURED_CORE)))
  await sleep(WARM_MS) // leaves out compilation
  process.kill(router.pid, 'SIGSTOP')
  const turns = {
    bare: () => runAlone({ name: 'bare', pid: bare.pid }, bareCounter(bare), MEASURE_MS),
    sluice: () => runAlone({ name: 'router', pid: router.pid }, routedCounter(router), MEASURE_MS),
  }
  await turns.bare()
  const all: Round[] = []
  for (let round = 0; round < rounds; round++)
    all.push({ bare: await turns.bare(), sluice: await turns.sluice() })
  return `${report(all)}\n\n${rulesSection()}`
}

const bareCounter = (bare: Forked): Counter => since(() => bare.ask<number>('count'))
const routedCounter = (router: Launched): Counter =>
  since(async () => countIn(await router.metrics(), 'sluice_router_events_total', ''))

function since(count: () => Promise<number>): Counter {
  let before = 0
  return {
    async since() {
      const now = await count()
      const requests = now - before
      before = now
      return { requests, opened: 0 }
    },
  }
}

function report(rounds: readonly Round[]): string {
  const row = (name: string, of: keyof Round, ...rest: string[]) => [
    name,
    ...cells(rounds.map((round) => round[of])),
    ...rest,
  ]
  const ratios = rounds.map(({ sluice, bare }) => sluice.perCpuSecond / bare.perCpuSecond)
  return `Events of 1 KB with one destination each, from a backlog in Kafka. Bare is JSON.parse and JSON.stringify of each and
nothing else, with V8's default flags. Router is the real process, as \`npm start\` runs it: it reads an event, remembers its
id, renders its body and writes the delivery, on its own core; Kafka has the other. Ratios are of events per CPU-second.
Median of ${rounds.length} alternating rounds, with the lowest and the highest.

${markdownTable(
  ['', 'events/s', 'events per CPU-second', 'us of CPU per event', 'ratio', 'goal'],
  [row('bare', 'bare', '', ''), row('**router**', 'sluice', `**${spread(ratios)}**`, '>= 0.30')],
)}

${verdict([{ what: 'the ratio', is: median(ratios), atLeast: 0.3 }])}`
}

const AT_ONCE = 5_000

/** As ingest writes them, each with its own id. */
async function fillEvents({ connection, config }: PreparedSystem, count: number): Promise<void> {
  const producer = await createProducer(connection, { maxQueuedBytes: Number.POSITIVE_INFINITY })
  const codec = await openCodec(openRegistry(config.registry), 'event', `${connection.named(EVENTS)}-value`)
  const made = events()
  for (let from = 0; from < count; from += AT_ONCE) {
    const records = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => {
      const event = made[(from + index) % made.length] as Event
      return {
        topic: EVENTS,
        key: `${event.sourceId}/${event.userId}`,
        value: codec.encode({
          ...event,
          messageId: `m-${from + index}`,
          timestamp: event.timestamp + from + index,
          receivedAt: Date.now(),
        }),
      }
    })
    await producer.produce(records)
  }
  await producer.close()
}
