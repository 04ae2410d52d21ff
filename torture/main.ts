import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sizeOf } from '../harness/command-line.ts'
import { type Fleet, startFleet } from '../harness/fleet.ts'
import { writeSection } from '../harness/results.ts'
import { type Account, account, holds } from './account.ts'
import {
  CHOOSY,
  COUNT,
  change,
  endNotices,
  FIXED,
  makeSettings,
  PERMANENT_IDS,
  permanentWebhooks,
  STEADY,
  startEndpoints,
  WRITE_KEY,
} from './destinations.ts'
import { findFaketime, thisMachine } from './faketime.ts'
import { accountNotices, NOTICE_DELAY_MS, noticesHold, watchHealth } from './notices.ts'
import { furthestAhead, type Planned, plan } from './plan.ts'
import { runProgram, say } from './program.ts'
import { type Kafka, openKafka, type Topics } from './read.ts'
import { report } from './report.ts'
import { startSluice } from './sluice.ts'
import { strikeAll, type Targets } from './strike.ts'
import { trailText } from './trail.ts'

const USAGE = `npm run torture                 random faults under load for ten minutes, then a check of every call
  --minutes N   as long as that
  --seed N      the same faults as in another run: its log begins with it
  --clients N   so many make a call a second each (default: 60)
  --write       puts the result into bench/RESULTS.md

Clocks are stepped where libfaketime is (on Debian: apt-get install libfaketime). If a guarantee does not hold, the logs
and all records of missing deliveries stay in a folder that the last line names.
`

/** Short: deliveries that are never accepted reach the end of their retry window within the run. */
const SETTINGS = {
  RETRY_LADDER: '1s,2s,4s,8s,15s,30s',
  RETRY_WINDOW: '2m',
  NOTICE_DELAY: `${NOTICE_DELAY_MS}ms`,
  LOG_LEVEL: 'info',
}
/** Time after the last fault for the retry window, expiring sessions and backlogs. */
const SETTLE_MS = 300_000

function options() {
  const number = { type: 'string' } as const
  const { values } = parseArgs({
    options: { minutes: number, seed: number, clients: number, write: { type: 'boolean' } },
  })
  const { minutes = '10', seed = String(randomInt(2 ** 31)), clients = '60', write = false } = values
  if (!Number.isInteger(Number(seed))) throw new Error(`--seed must be a whole number, not '${seed}'`)
  return {
    minutes: sizeOf('--minutes', minutes),
    seed: Number(seed),
    clients: sizeOf('--clients', clients, true),
    write,
  }
}

async function torture({ minutes, seed, clients, write }: ReturnType<typeof options>): Promise<boolean> {
  const forMs = minutes * 60_000
  say(`seed ${seed}, ${minutes} min, ${clients} calls a second`)
  await using closing = new AsyncDisposableStack()
  const unredacted = new Set<string>()
  const endpoints = await startEndpoints(closing, unredacted)
  const faketime = findFaketime(thisMachine)
  const clocks = faketime !== undefined
  if (!clocks) say('libfaketime was not found: clocks are not changed')
  const sluice = closing.adopt(await startSluice(SETTINGS, faketime), (it) => it.close())
  await makeSettings(sluice, endpoints)
  const kafka = openKafka(sluice)
  const watch = closing.adopt(watchHealth(sluice, PERMANENT_IDS), (it) => it.close())
  const targets: Targets = { sluice, kafka, watch, endpoints, cuts: [] }

  const faults = plan({ seed, forMs, endpoints: COUNT, clocks })
  const start = performance.now()
  const fleet = startFleet({ url: sluice.ingest, writeKey: WRITE_KEY, size: clients })
  say(`${faults.length} faults are planned`)
  const struck = await strikeAll(faults, targets, start)
  await sleep(Math.max(0, start + forMs - performance.now()))

  await recover(targets, fleet)
  const settledMs = await settle(kafka, faults)
  const remembered = await endWatch(targets)
  const found = await kafka.topics()
  const result = account({
    ...found,
    cuts: targets.cuts,
    accepted: fleet.accepted,
    answered: endpoints.flatMap((endpoint) => endpoint.answered),
    steady: Object.keys(STEADY),
    choosy: CHOOSY,
    unredacted,
  })
  const webhooks = permanentWebhooks(endpoints)
  const notices = accountNotices({ ...found, webhooks, looks: watch.looks, remembered, cuts: targets.cuts })
  const deaths = sluice.deaths()
  const text = report({ seed, minutes, clients, struck, clocks, result, notices, settledMs, deaths })
  process.stdout.write(`## torture\n\n${text}\n`)
  if (write) await writeSection('torture', text)
  const isRight = holds(result) && noticesHold(notices)
  if (!isRight) await keepEvidence(targets, { seed, missing: result.missing, reported: found.reported })
  return isRight
}

type Evidence = Pick<Account, 'missing'> & Pick<Topics, 'reported'> & { seed: number }

/** Saves the logs and all records of deliveries that are missing, in a folder that stays. */
async function keepEvidence(
  { sluice, kafka, cuts }: Targets,
  { seed, missing, reported }: Evidence,
): Promise<void> {
  const folder = join(tmpdir(), `sluice-torture-${seed}`)
  await sluice.saveLogs(folder)
  const keys = [...new Set([...missing.unsettled, ...missing.unrouted, ...missing.unaccepted])]
  const steps = await kafka.trail(new Set(keys))
  await writeFile(join(folder, 'deliveries.txt'), trailText({ keys, steps, cuts, reported }))
  say(`logs and the records of missing deliveries are in ${folder}`)
}

/** Resolves when every call is accepted and all processes are ready. */
async function recover({ sluice, endpoints }: Targets, fleet: Fleet): Promise<void> {
  say('no more faults; all webhooks but one answer')
  for (const [index, endpoint] of endpoints.entries())
    if (index !== FIXED.never) await endpoint.behave('answers')
  await fleet.drain()
  say(`${fleet.accepted.size} calls accepted, ${fleet.unanswered.length} requests without an answer`)
  await sluice.ready()
  // the held deliveries of a paused destination would never be settled
  await change(sluice, 'on', endpoints)
}

/** @returns the milliseconds until all records were settled; undefined if some were not in time */
async function settle(kafka: Kafka, faults: readonly Planned[]): Promise<number | undefined> {
  const start = performance.now()
  // deliveries first attempted under a clock that was ahead expire that much later
  const timeout = SETTLE_MS + furthestAhead(faults)
  const isSettled = await kafka.untilSettled(timeout)
  const ms = performance.now() - start
  say(`waited ${(ms / 1_000).toFixed(1)} s; reading the topics`)
  return isSettled ? ms : undefined
}

/** Resolves when all notices are settled. @returns what control has remembered */
async function endWatch({ sluice, kafka, watch }: Targets): ReturnType<Kafka['remembered']> {
  await watch.close()
  const remembered = await kafka.remembered()
  // even now, a webhook may become healthy
  await endNotices(sluice)
  await kafka.untilSettled(SETTLE_MS)
  return remembered
}

await runProgram({ usage: USAGE, options, run: torture })
