import { type Stack, startStack } from '../../harness/kafka/stack.ts'
import { warmUp } from '../load/scenario.ts'
import { startEndpoints } from '../receivers/endpoints-process.ts'
import { type Run, runStraight, runThrough } from './run.ts'
import { afterTry, type Found, nextRate } from './search.ts'
import { HELD_MS, type Round, report } from './table.ts'

const PER_SECOND = 1_000
const WARM_MS = 15_000
const STRAIGHT_WARM_MS = 5_000
const MEASURE_MS = 30_000
/** Of the time for the search: as much is measured at each rate. */
const TRY_SHARE = 1 / 20

/** @returns the section of RESULTS.md: from a call to its arrival at a steady rate, and the highest rate that two cores keep up. */
export async function bench({ rounds = 4, minutes = 10 } = {}): Promise<string> {
  await using closing = new AsyncDisposableStack()
  const stack = closing.use(await startStack())
  await warmUp(stack)
  const all: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const endpoints = await startEndpoints(1)
    const rate = { perSecond: PER_SECOND, forMs: MEASURE_MS }
    const straight = await runStraight({ ...rate, warmMs: STRAIGHT_WARM_MS }, endpoints)
    await endpoints.stop()
    all.push({ straight, through: await runThrough(stack, { ...rate, warmMs: WARM_MS }) })
  }
  return report(all, await search(stack, minutes * 60_000))
}

/** Tries rates until the highest that holds is found, or the time is over. */
async function search(stack: Stack, limitMs: number): Promise<{ tries: Run[]; found: Found; forMs: number }> {
  const until = performance.now() + limitMs
  const forMs = limitMs * TRY_SHARE
  const tries: Run[] = []
  let found: Found = { held: 0, failed: undefined }
  for (let rate = nextRate(found); rate && performance.now() < until; rate = nextRate(found)) {
    const run = await runThrough(stack, { perSecond: rate, warmMs: WARM_MS, forMs })
    tries.push(run)
    found = afterTry(found, rate, run.p99Ms <= HELD_MS && run.errors === 0)
  }
  return { tries, found, forMs }
}
