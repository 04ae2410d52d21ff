import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startStack } from '../../harness/kafka/stack.ts'
import { type PreparedSystem, prepareSystem, startRole } from '../../harness/prepare.ts'
import { type Child, spawnChild } from '../../local/processes/child-process.ts'
import { type LoadReport, startLoad } from '../load/start.ts'
import { cpuSeconds, pin } from '../stack/machine.ts'

const WARM_MS = 2_000
export const WRITE_KEY = 'bench-write-key'
/** The measured process has its own core. The broker and the load share the other one. */
const MEASURED_CORE = 0
const OTHER_CORE = 1

/** `storePid`: of the process that stores the calls. */
export type Target = { pid: number; url: string; storePid?: number }

/** `batch`: calls per request. */
export type Load = { name: string; path: string; batch: number; connections: number; perSecond?: number }

/** `storeUs`: the store's CPU per event. */
export type Figures = Pick<LoadReport, 'p50Ms' | 'p99Ms' | 'errors'> & {
  perSecond: number
  perCpuSecond: number
  storeUs: number
}

export type Bench = { sluice: Target; system: PreparedSystem } & AsyncDisposable

/** Kafka and a real ingest with the write key above, each on its own core. */
export async function startBench(): Promise<Bench> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await pin(stack.brokerPid, OTHER_CORE)
  const system = await prepareSystem({
    ...stack,
    sources: [{ id: 'bench', writeKey: WRITE_KEY, enabled: true }],
  })
  const ingest = closing.adopt(await startRole('ingest', system), async (it) => void (await it.stop()))
  await pin(ingest.pid, MEASURED_CORE)
  const opened = closing.move()
  return {
    sluice: { pid: ingest.pid, url: ingest.url, storePid: stack.brokerPid },
    system,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The baseline in ingest's place. */
export async function startBare(): Promise<Child & Target> {
  const address = Promise.withResolvers<string>()
  const args = [fileURLToPath(new URL('./bare.ts', import.meta.url))]
  const tied = spawnChild(process.execPath, { args, onLine: address.resolve })
  await pin(tied.pid, MEASURED_CORE)
  return { ...tied, url: await address.promise }
}

export async function startLoadOn({ url }: Target, load: Load) {
  const started = startLoad({ ...load, url, target: 'sluice', keys: [WRITE_KEY] })
  await pin(started.pid, OTHER_CORE)
  return started
}

/** @returns the figures without the warm-up */
export async function measure(target: Target, load: Load, forMs: number): Promise<Figures> {
  const running = await startLoadOn(target, load)
  await sleep(WARM_MS)
  await running.since()
  const before = await cpu(target)
  await sleep(forMs)
  const { requests, ...report } = await running.since()
  const after = await cpu(target)
  await running.stop()
  const [seconds, used] = [(after.at - before.at) / 1_000, after.cpu - before.cpu]
  const events = requests * load.batch
  const storeUs = ((after.store - before.store) / events) * 1e6
  const figures = { ...report, perSecond: events / seconds, perCpuSecond: events / used, storeUs }
  process.stderr.write(
    `${load.name} ${target.url}: ${Math.round(figures.perSecond)}/s, ${(1e6 / figures.perCpuSecond).toFixed(1)} us, core ${((used / seconds) * 100).toFixed(0)} %\n`,
  )
  return figures
}

async function cpu({ pid, storePid }: Target) {
  const store = storePid === undefined ? 0 : await cpuSeconds(storePid)
  return { at: performance.now(), cpu: await cpuSeconds(pid), store }
}
