import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter } from 'prom-client'
import { targetsOf } from '../../../delivery/targets.ts'
import { CLOSE_MS } from '../../../kafka/client.ts'
import type { OutRecord, Producer } from '../../../kafka/produce/produce.ts'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import { batchesOf } from '../../../process/batches.ts'
import type { Logger } from '../../../process/log.ts'
import { registry } from '../../../process/metrics.ts'
import { perObject } from '../../../process/per-object.ts'
import { within } from '../../../process/timeout.ts'
import type { Codec } from '../../../schemas/codec.ts'
import type { Event } from '../../../schemas/event.ts'
import { eventRecord } from '../../../schemas/event-record.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Destination } from '../../../settings/settings.ts'
import type { Attempts } from '../../activity/attempts.ts'
import type { Health } from '../../activity/health/health.ts'
import { stillOwned } from '../scheduler.ts'
import type { Tasks } from '../task-table.ts'
import { type Announced, announcedRecord, noticeId, TROUBLES } from './announced.ts'
import { announcedState, type Change, createWatch, type Look, noticeOf, type Observed } from './decide.ts'

export type NoticeParts = {
  /** Only one process sends notices. */
  owns: () => boolean
  settings: Pick<Settings, 'sources' | 'destinations' | 'countUnreadable'>
  /** `health` is derived from them. */
  attempts: Pick<Attempts, 'isFresh'>
  health: Pick<Health, 'webhooks'>
  tasks: { announced: Tasks['announced']; table: Pick<Tasks['table'], 'caughtUp'> }
  taskWriter: Pick<FencedWriter, 'write'>
  producer: Pick<Producer, 'produce'>
  encode: Codec<Event>['encode']
  log: Pick<Logger, 'warn'>
  delayMs: number
}

const CHECK_MS = 5_000
/** Notices, and records in one transaction, for which other writes wait. */
const AT_ONCE = 500
/** Destinations that are compared before other work gets a turn. Each has up to five webhooks. */
const COMPARED_AT_ONCE = 250

/** When the state of a webhook changes, writes a notice for each enabled source of kind `notices`. */
export function sendNotices(parts: NoticeParts): { close(): Promise<void> } {
  const check = createCheck(parts)
  let checking: Promise<void> | undefined
  const timer = setInterval(() => {
    checking ??= check()
      .catch((err: unknown) => parts.log.warn({ err }, 'notices could not be written and will be retried'))
      .finally(() => {
        checking = undefined
      })
  }, CHECK_MS)
  return {
    async close() {
      clearInterval(timer)
      // without Kafka, it would wait until the process is killed
      if (checking) await within(CLOSE_MS, checking)
    },
  }
}

/** @returns a function that throws if Kafka refuses or does not answer. */
export function createCheck(parts: NoticeParts): () => Promise<void> {
  const { owns, settings, attempts, health, tasks, taskWriter, producer, encode, delayMs } = parts
  const isStillOwner = stillOwned(owns, tasks.table)
  let watch = createWatch(delayMs)

  async function announce(changes: readonly Change[], sourceIds: readonly string[]): Promise<void> {
    if (changes.length === 0) return
    const now = Date.now()
    const events = changes.flatMap((change) =>
      sourceIds.map((sourceId) => noticeOf(change, { sourceId, now })),
    )
    const outcome = await producer.produce(events.map((event) => eventRecord(event, encode)))
    if (outcome !== 'acked') throw new Error(`Kafka did not store the notices (${outcome})`)
    await remember(
      changes.map(({ id, state }) => announcedRecord(id, state === 'healthy' ? undefined : state)),
    )
    for (const { state } of changes) written.inc({ state }, sourceIds.length)
  }

  async function remember(records: readonly OutRecord[]): Promise<void> {
    const outcome = await taskWriter.write(() => ({ records }))
    if ('unavailable' in outcome) throw outcome.unavailable
  }

  // a webhook may seem to be removed only because its settings cannot be read
  const areAllRead = () => settings.countUnreadable('source') + settings.countUnreadable('destination') === 0
  const canJudge = () => owns() && attempts.isFresh()
  // another process may have written the notice, if it had the tasks meanwhile
  const isNews = ({ id, before }: Change) => announcedState(tasks.announced, id) === before

  return async () => {
    const sourceIds = noticeSources(settings.sources)
    if (!canJudge() || (sourceIds.length === 0 && tasks.announced.size === 0)) {
      watch = createWatch(delayMs)
      return
    }
    // read with the destinations, because settings may change between batches
    const isComplete = areAllRead()
    const destinations = sourceIds.length > 0 ? [...settings.destinations.values()] : []
    const compared = await compare(destinations, {
      look: watch.look(),
      announced: tasks.announced,
      health,
      canJudge,
    })
    if (!compared) {
      watch = createWatch(delayMs)
      return
    }
    for (const some of batchesOf(compared.changes, Math.ceil(AT_ONCE / (sourceIds.length || 1)))) {
      if (!(await isStillOwner())) return
      await announce(some.filter(isNews), sourceIds)
    }
    if (!isComplete) return
    for (const some of batchesOf(compared.missing, AT_ONCE)) {
      if (!(await isStillOwner())) return
      await remember(some.map((id) => announcedRecord(id, undefined)))
    }
  }
}

type Comparing = Pick<NoticeParts, 'health'> & {
  look: Look
  announced: Announced['states']
  canJudge: () => boolean
}

/** `missing`: ids of announced webhooks that no destination has. */
type Compared = { changes: readonly Change[]; missing: ReadonlySet<string> }

/** @returns undefined once `canJudge` returns false. */
async function compare(
  destinations: readonly Destination[],
  { look, announced, health, canJudge }: Comparing,
): Promise<Compared | undefined> {
  const changes: Change[] = []
  const missing = new Set(announced.keys())
  for (const some of batchesOf(destinations, COMPARED_AT_ONCE)) {
    const time = { elapsed: performance.now(), now: Date.now() }
    for (const observed of webhooksOf(some, health)) {
      missing.delete(observed.id)
      const change = look.changeOf(observed, announced, time)
      if (change) changes.push(change)
    }
    await nextTurn()
    if (!canJudge()) return undefined
  }
  look.end()
  return { changes, missing }
}

const noticeSources = (sources: Settings['sources']): string[] =>
  [...sources.values()].filter(({ kind, enabled }) => kind === 'notices' && enabled).map(({ id }) => id)

function* webhooksOf(
  destinations: readonly Destination[],
  health: NoticeParts['health'],
): Generator<Observed> {
  for (const destination of destinations) {
    const targets = identifiedTargets(destination)
    for (const webhook of health.webhooks(destination)) {
      const found = targets[webhook.urlIndex]
      if (found) yield { id: found.id, target: found.target, destination, health: webhook }
    }
  }
}

// hashed once: there may be thousands, and all are compared every 5 s
const identifiedTargets = perObject((destination: Destination) =>
  targetsOf(destination).map((target) => ({ id: noticeId(target.webhook), target })),
)

const written = new Counter({
  name: 'sluice_control_notices_total',
  help: 'Notices that this process has written, by the new state of the webhook.',
  labelNames: ['state'],
  registers: [registry],
})

// a rate needs an initial value
for (const state of [...TROUBLES, 'healthy']) written.inc({ state }, 0)
