import { setTimeout as sleep } from 'node:timers/promises'
import { startStack } from '../../harness/kafka/stack.ts'
import { markdownTable } from '../../harness/results.ts'
import { DEAD } from '../../schemas/topics.ts'
import { verdict } from '../figures/summary.ts'
import { fillBacklog } from '../load/backlog.ts'
import { ENDPOINTS, startCalls } from '../load/scenario.ts'
import { GRACE_US, type WindowReport } from '../receivers/tally.ts'
import { type ControlProcess, startControl } from '../stack/control.ts'
import { MB, measureUse, nowUs, sleepUntil, type Use } from '../stack/machine.ts'
import { startPipeline } from '../stack/pipeline.ts'

const LETTERS = 100_000
const LIVE_PER_SECOND = 500
const REPLAYED_PER_SECOND = 1_000
const WARM_MS = 20_000
const WITHOUT_MS = 40_000
/** Until a replay's consumer has joined and made its first delivery. */
const LEAD_MS = 5_000

export async function bench({ count = LETTERS } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  const pipeline = closing.use(await startPipeline(stack, ENDPOINTS))
  const { system, endpoints, pids } = pipeline
  await fillBacklog(system, {
    destinationIds: ['destination-0'],
    deliveries: count,
    topic: DEAD,
    tried: { attempt: 9, deadReason: 'attempts_exhausted', deadAt: Date.now() },
  })
  const control = closing.adopt(await startControl(system), async (it) => void (await it.kill()))
  const replayMs = (count / REPLAYED_PER_SECOND) * 1_000
  const { load, windows } = await startCalls(pipeline, {
    ...{ name: 'replay', bad: 0, behaviour: 'answers', perSecond: LIVE_PER_SECOND },
    healthyMs: WARM_MS,
    windowsMs: [WITHOUT_MS, LEAD_MS, replayMs, WITHOUT_MS],
  })
  const untilEndOf = (index: number) =>
    measureUse(pids.deliverer, () => sleepUntil(windows[index]?.toUs ?? nowUs()))
  await sleepUntil(windows[0]?.fromUs ?? nowUs())
  const before = await untilEndOf(0)
  const replay = await begin(control)
  await untilEndOf(1)
  const during = await untilEndOf(2)
  const { read } = await replay.progress()
  const after = await untilEndOf(3)
  const { replayed } = await replay.end()
  await load.stop()
  await sleepUntil((windows.at(-1)?.toUs ?? 0) + GRACE_US)
  const parts = partsOf({ before, during, after }, (await endpoints.report()).windows)
  return report(parts, {
    letters: count,
    read,
    replayed,
    live: LIVE_PER_SECOND,
    perSecond: REPLAYED_PER_SECOND,
  })
}

/** @param windows before the replay, its start (not reported), during and after it */
function partsOf(
  { before, during, after }: Record<'before' | 'during' | 'after', Use>,
  [first, , second, third]: readonly WindowReport[],
): Part[] {
  const parts = [
    ...(first ? [{ name: 'before', ...before, ...first }] : []),
    ...(second ? [{ name: 'during the replay', ...during, ...second }] : []),
    ...(third ? [{ name: 'after', ...after, ...third }] : []),
  ]
  for (const { name, p99Ms, idleShare, rss } of parts)
    process.stderr.write(
      `${name}: p99 ${p99Ms.toFixed(1)} ms, deliverer ${Math.round(rss / MB)} MB, idle ${(idleShare * 100).toFixed(0)} %\n`,
    )
  return parts
}

type Progress = { state: string; read: number; replayed: number }

/** Replays all dead letters of one destination. */
async function begin({ ask }: ControlProcess) {
  const json = { destinationId: 'destination-0', perSecond: REPLAYED_PER_SECOND }
  const { id } = await ask<{ id: string }>('POST', 'replays', { json })
  const progress = () => ask<Progress>('GET', `replays/${id}`)
  return {
    progress,
    async end(): Promise<Progress> {
      for (;;) {
        const now = await progress()
        if (now.state !== 'running') return now
        await sleep(500)
      }
    },
  }
}

export type Part = WindowReport & Use & { name: string }

/** `read`: letters read when the replay should have ended. `replayed`: at the end. Rates are per second. */
type Replayed = { letters: number; read: number; replayed: number; live: number; perSecond: number }

const RATIO_OF_P99 = 2

/** The first part is the baseline. */
function report(parts: readonly Part[], { letters, read, replayed, live, perSecond }: Replayed): string {
  const base = parts[0]?.p99Ms ?? Number.NaN
  const during = (parts[1]?.p99Ms ?? Number.NaN) / base
  const rows = parts.map(({ name, due, inTime, p50Ms, p99Ms, cpu, seconds, idleShare }, index) => [
    name,
    `${((inTime / due) * 100).toFixed(1)} %`,
    p50Ms.toFixed(1),
    `**${p99Ms.toFixed(1)}**`,
    index === 0 ? '' : `**${(p99Ms / base).toFixed(2)}**`,
    `${((cpu / seconds) * 100).toFixed(0)} %`,
    `${(idleShare * 100).toFixed(0)} %`,
    index === 1 ? `<= ${RATIO_OF_P99}` : '',
  ])
  const count = (number: number) => number.toLocaleString('en-US')
  return `${count(live)} track calls of 1 KB a second, at a fixed rate, through ingest, router and deliverer to ${ENDPOINTS} healthy webhooks as in
\`isolation\`. Meanwhile a replay delivers ${count(letters)} dead letters of one of their destinations again, ${count(perSecond)} a second (the
default is 500). Figures are those of the fresh calls; one in ${ENDPOINTS} goes to the destination of the replay. Latency is from when a call was
due to its arrival. All processes, Kafka, load and receiver share two cores; where the machine was hardly idle, it was
the limit. ${count(read)} were read when the replay should have been over; ${count(replayed)} were delivered again.

${markdownTable(['', 'in time', 'p50 ms', 'p99 ms', 'ratio', "deliverer's CPU, of a core", 'machine idle', 'goal'], rows)}

${verdict([{ what: 'the ratio of p99 during the replay', is: during, atMost: RATIO_OF_P99 }])}`
}
