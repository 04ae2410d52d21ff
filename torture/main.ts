import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sizeOf } from '../harness/command-line.ts'
import { type Fleet, startFleet } from '../harness/fleet.ts'
import { writeSection } from '../harness/results.ts'
import type { Role } from '../settings/config-key.ts'
import { type Account, account, afterEndOf, afterOutage, holds, pair, type TimedCut } from './account.ts'
import { type Endpoint, type Post, startHost } from './endpoints.ts'
import { findFaketime, thisMachine } from './faketime.ts'
import { type Fault, furthestAhead, inWords, type Planned, plan } from './plan.ts'
import { runProgram, say } from './program.ts'
import { type Kafka, openKafka, type Topics } from './read.ts'
import { report } from './report.ts'
import { CHANGING, change, destination } from './settings.ts'
import { type Sluice, startSluice } from './sluice.ts'
import { trailText } from './trail.ts'

const USAGE = `npm run torture                 random faults under load for ten minutes, then a check of every call
  --minutes N   as long as that
  --seed N      the same faults as in another run: its log begins with it
  --clients N   so many make a call a second each (default: 60)
  --write       puts the result into bench/RESULTS.md

Clocks are stepped where libfaketime is (on Debian: apt-get install libfaketime). If a guarantee does not hold, the logs
and all records of missing deliveries stay in a folder that the last line names.
`

const WRITE_KEY = 'torture-write-key'
/** Short: deliveries that are never accepted reach the end of their retry window within the run. */
const SETTINGS = { RETRY_LADDER: '1s,2s,4s,8s,15s,30s', RETRY_WINDOW: '2m', LOG_LEVEL: 'info' }
/** Time after the last fault for the retry window, expiring sessions and backlogs. */
const SETTLE_MS = 300_000

/** Destinations that always exist, with the numbers of their endpoints. */
const STEADY = {
  calm: [0],
  one: [1],
  other: [2],
  pair: [3, 4],
  never: [5],
  neighbour: [9],
  bad: [10],
  worse: [11],
} as const
/** Gets the events of every tenth user, without their ids. */
const CHOOSY = { choosy: [8] } as const
const USERS = '0'
const RULES = {
  filter: { path: 'userId', endsWith: USERS },
  redact: [{ path: 'userId', as: 'hash' }],
}
const MOVING = [6, 7] as const
/** These share one host, with different paths. */
const TOGETHER: readonly number[] = [9, 10, 11]
const COUNT = 12
/** Endpoints that always or never answer. */
const FIXED = { calm: 0, never: 5, neighbour: 9 } as const

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

/** The fleet's ids are `<user>.<number>`. */
const userOf = (messageId: string): string => messageId.slice(0, messageId.lastIndexOf('.'))

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
  const targets: Targets = { sluice, kafka, endpoints, cuts: [] }

  const faults = plan({ seed, forMs, endpoints: COUNT, clocks })
  const start = performance.now()
  const fleet = startFleet({ url: sluice.ingest, writeKey: WRITE_KEY, size: clients })
  say(`${faults.length} faults are planned`)
  const struck = await strikeAll(faults, targets, start)
  await sleep(Math.max(0, start + forMs - performance.now()))

  await recover(targets, fleet)
  const settledMs = await settle(kafka, faults)
  const found = await kafka.topics()
  const result = account({
    ...found,
    cuts: targets.cuts,
    accepted: fleet.accepted,
    answered: endpoints.flatMap((endpoint) => endpoint.answered),
    steady: Object.keys(STEADY),
    choosy: { destinationId: 'choosy', wants: (messageId) => userOf(messageId).endsWith(USERS) },
    unredacted,
  })
  const deaths = sluice.deaths()
  const text = report({ seed, minutes, clients, struck, clocks, result, settledMs, deaths })
  process.stdout.write(`## torture\n\n${text}\n`)
  if (write) await writeSection('torture', text)
  if (!holds(result)) await keepEvidence(targets, { seed, missing: result.missing, reported: found.reported })
  return holds(result)
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

/** Destinations with the numbers of their endpoints. */
const DESTINATIONS: readonly (readonly [string, readonly number[]])[] = [
  ...Object.entries({ ...STEADY, ...CHOOSY }),
  [CHANGING, MOVING],
]

/** @param unredacted gets `destinationId messageId` of bodies that show the id of a user whom the rules hide. */
async function startEndpoints(closing: AsyncDisposableStack, unredacted: Set<string>): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = []
  const destinationOf = (index: number) => DESTINATIONS.find(([, its]) => its.includes(index))?.[0] ?? ''
  const onPost = (post: Post) => {
    if (post.destinationId in CHOOSY && JSON.parse(post.body).userId === userOf(post.messageId))
      unredacted.add(pair(post))
  }
  const alone = Array.from({ length: COUNT - TOGETHER.length }, (_, index) => [index])
  for (const its of [...alone, TOGETHER]) {
    const host = closing.adopt(await startHost(its.map(destinationOf), onPost), (it) => it.close())
    endpoints.push(...host.endpoints)
  }
  await endpoints[FIXED.never]?.behave('failing')
  return endpoints
}

/** Resolves when the processes use them. */
async function makeSettings(sluice: Sluice, endpoints: readonly Endpoint[]): Promise<void> {
  await sluice.ready()
  await sluice.api('POST', 'sources', { id: 'shop', name: 'Shop', writeKey: WRITE_KEY })
  for (const [id, its] of DESTINATIONS) {
    const urls = its.map((index) => endpoints[index]?.url ?? '')
    const json = destination(id, id === CHANGING ? urls.slice(0, 1) : urls)
    await sluice.api('POST', 'destinations', id in CHOOSY ? { ...json, rules: RULES } : json)
  }
  await sleep(2_000) // processes apply a change within a second
}

/** These come at their own times, the others one after another. */
const BESIDE: readonly Fault['kind'][] = ['endpoint', 'step-clock']

/** @param start when the plan's times begin @returns how many faults of each kind */
async function strikeAll(
  faults: readonly Planned[],
  targets: Targets,
  start: number,
): Promise<ReadonlyMap<string, number>> {
  const struck = new Map<string, number>()
  const inOrder = async (isIncluded: (kind: Fault['kind']) => boolean) => {
    for (const { at, fault } of faults.filter((each) => isIncluded(each.fault.kind))) {
      await sleep(Math.max(0, start + at - performance.now()))
      if (fault.kind !== 'endpoint') say(inWords(fault))
      struck.set(fault.kind, (struck.get(fault.kind) ?? 0) + 1)
      await strike(fault, targets)
    }
  }
  await Promise.all([
    ...BESIDE.map((one) => inOrder((kind) => kind === one)),
    inOrder((kind) => !BESIDE.includes(kind)),
  ])
  return struck
}

type Targets = { sluice: Sluice; kafka: Kafka; endpoints: readonly Endpoint[]; cuts: TimedCut[] }

/** A process that is ended before it notices a loss takes its knowledge with it. */
function endWitness(role: Role, targets: Targets): void {
  const marked = afterEndOf(role, targets.cuts, performance.now())
  const count = marked.filter((cut, index) => cut !== targets.cuts[index]).length
  if (count > 0) say(`${role} ends soon after a power cut of ${count} partitions`)
  targets.cuts = marked
}

/** @param role of the process that is frozen; undefined if Kafka is away. */
async function outage<T>(away: Promise<T>, targets: Targets, role?: Role): Promise<T> {
  const began = performance.now()
  const result = await away
  targets.cuts = afterOutage(targets.cuts, { began, ended: performance.now(), role })
  return result
}

async function strike(fault: Fault, targets: Targets): Promise<void> {
  const { sluice, kafka, endpoints } = targets
  switch (fault.kind) {
    case 'kill':
    case 'end':
      endWitness(fault.role, targets)
      return sluice.end(fault.role, fault.kind)
    case 'freeze':
      return outage(sluice.freeze(fault.role, fault.forMs), targets, fault.role)
    case 'another':
      return sluice.another(fault.role, fault.forMs, fault.goes)
    case 'step-clock':
      return sluice.stepClock(fault.role, fault.seconds)
    case 'kill-broker':
      return outage(sluice.killBroker(fault.forMs), targets)
    case 'freeze-broker':
      return outage(sluice.freezeBroker(fault.forMs), targets)
    case 'kill-registry':
      return sluice.killRegistry(fault.forMs)
    case 'fill-storage':
      endWitness('ingest', targets) // the fault restarts it
      return sluice.fillStorage(fault.forMs)
    case 'cut-power': {
      const topics = await kafka.cut(fault.topic)
      const taken = await outage(sluice.cutPower(topics, fault.forMs), targets)
      const at = performance.now()
      targets.cuts.push(...(await kafka.taken(fault.topic, taken)).map((cut) => ({ ...cut, at })))
      return
    }
    case 'settings':
      return change(sluice, fault.change, urlsOf(endpoints))
    case 'endpoint': {
      const isFixed = Object.values(FIXED).some((index) => index === fault.endpoint)
      if (!isFixed) await endpoints[fault.endpoint]?.behave(fault.behaviour)
    }
  }
}

/** Of the destination whose settings change. */
const urlsOf = (endpoints: readonly Endpoint[]) => MOVING.map((index) => endpoints[index]?.url ?? '')

/** Resolves when every call is accepted and all processes are ready. */
async function recover({ sluice, endpoints }: Targets, fleet: Fleet): Promise<void> {
  say('no more faults; all webhooks but one answer')
  for (const [index, endpoint] of endpoints.entries())
    if (index !== FIXED.never) await endpoint.behave('answers')
  await fleet.drain()
  say(`${fleet.accepted.size} calls accepted, ${fleet.unanswered.length} requests without an answer`)
  await sluice.ready()
  // the held deliveries of a paused destination would never be settled
  await change(sluice, 'on', urlsOf(endpoints))
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

await runProgram({ usage: USAGE, options, run: torture })
