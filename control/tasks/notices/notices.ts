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
import { announcedRecord, noticeId, TROUBLES } from './announced.ts'
import { type Change, createWatch, noticeOf, type Observed } from './decide.ts'

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

  return async () => {
    const sourceIds = noticeSources(settings.sources)
    const { announced } = tasks
    if (!owns() || !attempts.isFresh() || (sourceIds.length === 0 && announced.size === 0)) {
      watch = createWatch(delayMs)
      return
    }
    const current = sourceIds.length > 0 ? webhooksOf(settings.destinations, health) : []
    const changes = watch.changes(current, announced, { elapsed: performance.now(), now: Date.now() })
    const known = new Set(current.map(({ id }) => id))
    const gone = areAllRead() ? [...announced.keys()].filter((id) => !known.has(id)) : []
    for (const some of batchesOf(changes, Math.ceil(AT_ONCE / (sourceIds.length || 1)))) {
      if (!(await isStillOwner())) return
      await announce(some, sourceIds)
    }
    for (const some of batchesOf(gone, AT_ONCE)) {
      if (!(await isStillOwner())) return
      await remember(some.map((id) => announcedRecord(id, undefined)))
    }
  }
}

const noticeSources = (sources: Settings['sources']): string[] =>
  [...sources.values()].filter(({ kind, enabled }) => kind === 'notices' && enabled).map(({ id }) => id)

const webhooksOf = (destinations: Settings['destinations'], health: NoticeParts['health']): Observed[] =>
  [...destinations.values()].flatMap((destination) => {
    const targets = identifiedTargets(destination)
    return health.webhooks(destination).flatMap((webhook) => {
      const found = targets[webhook.urlIndex]
      return found ? [{ ...found, destination, health: webhook }] : []
    })
  })

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
