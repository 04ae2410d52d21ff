import { setTimeout as sleep } from 'node:timers/promises'
import { startStack } from '../../harness/kafka/stack.ts'
import type { Launched } from '../../harness/launch.ts'
import { prepareSystem, putDestinations, startRole } from '../../harness/prepare.ts'
import { DUE } from '../../schemas/topics.ts'
import { startSink } from '../receivers/sink-process.ts'
import { cpuSeconds, highestRss, MB } from '../stack/process.ts'
import { alterTopics } from '../stack/topic-settings.ts'
import { latenessOf } from './lateness.ts'
import { type Phase, report } from './table.ts'
import { openRungWriter, type RungWriter } from './writer.ts'

const SHORT = { name: '5s', delayMs: 5_000 }
const LONG = { name: '60m', delayMs: 3_600_000 }
const PER_SECOND = 500
const BACKLOG = 1_000_000
const WARM_MS = 8_000

/** @returns the section of RESULTS.md: how late due retries are, without and with a long rung full of others. */
export async function bench({ backlog = BACKLOG, minutes = 0.5 } = {}): Promise<string> {
  const measureMs = minutes * 60_000
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  const sink = closing.adopt(await startSink(), (it) => it.stop())
  const system = await prepareSystem({ ...stack, sources: [] })
  await putDestinations(system, [{ id: 'bench', sourceId: 'bench', url: `http://127.0.0.1:${sink.port}/` }])
  // then a record says when the broker had it
  await alterTopics(system, [DUE], { 'message.timestamp.type': 'LogAppendTime' })
  const deliverer = closing.adopt(await startRole('deliverer', system), async (it) => void (await it.kill()))
  const writer = closing.adopt(await openRungWriter(system), (it) => it.close())

  await measure('warm', { writer, deliverer, forMs: WARM_MS })
  const phases = [await measure('without', { writer, deliverer, forMs: measureMs })]
  await writer.fill(LONG, { records: backlog, mark: 'backlog' })
  phases.push(await measure('with', { writer, deliverer, forMs: measureMs }))
  return report(phases, { backlog, perSecond: PER_SECOND, lateness: await latenessOf(system) })
}

type Measuring = { writer: RungWriter; deliverer: Launched; forMs: number }

/** Puts records into the short rung for a while, and waits until the last of them has been due. */
async function measure(mark: string, { writer, deliverer: { pid }, forMs }: Measuring): Promise<Phase> {
  const writing = writer.pace(SHORT, { perSecond: PER_SECOND, forMs, mark })
  await sleep(SHORT.delayMs)
  const before = await cpuSeconds(pid)
  const [rss = 0] = await highestRss([pid], forMs)
  const written = await writing
  const cpuShare = ((await cpuSeconds(pid)) - before) / (forMs / 1_000)
  await sleep(1_000) // and for a late one
  process.stderr.write(`${mark}: ${Math.round(rss / MB)} MB, core ${(cpuShare * 100).toFixed(0)} %\n`)
  return { mark, written, rss, cpuShare }
}
