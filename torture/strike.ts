import { setTimeout as sleep } from 'node:timers/promises'
import type { Role } from '../settings/config-key.ts'
import { afterEndOf, afterOutage, type TimedCut } from './account.ts'
import { change, FIXED } from './destinations.ts'
import type { Endpoint } from './endpoints.ts'
import { hidesHealth, type Watch } from './notices.ts'
import { type Fault, inWords, type Planned } from './plan.ts'
import { say } from './program.ts'
import type { Kafka } from './read.ts'
import type { Sluice } from './sluice.ts'

export type Targets = {
  sluice: Sluice
  kafka: Kafka
  watch: Watch
  endpoints: readonly Endpoint[]
  cuts: TimedCut[]
}

/** These run at their own times, the others one after another. */
const BESIDE: readonly Fault['kind'][] = ['endpoint', 'step-clock']

/** @param start when the plan's times begin @returns how many faults of each kind */
export async function strikeAll(
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
      const ended = strike(fault, targets)
      await (hidesHealth(fault) ? targets.watch.during(ended) : ended)
    }
  }
  await Promise.all([
    ...BESIDE.map((one) => inOrder((kind) => kind === one)),
    inOrder((kind) => !BESIDE.includes(kind)),
  ])
  return struck
}

/** A process that is ended before it notices a loss takes its knowledge with it. */
function endWitness(role: Role, targets: Targets): void {
  const marked = afterEndOf(role, targets.cuts, performance.now())
  const count = marked.filter((cut, index) => cut !== targets.cuts[index]).length
  if (count > 0) say(`${role} ends soon after a power cut of ${count} partitions`)
  targets.cuts = marked
}

/** @param role of the process that is frozen; undefined if Kafka is down. */
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
      return change(sluice, fault.change, endpoints)
    case 'endpoint': {
      const isFixed = Object.values(FIXED).some((index) => index === fault.endpoint)
      if (!isFixed) await endpoints[fault.endpoint]?.behave(fault.behaviour)
    }
  }
}
