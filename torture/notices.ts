import { setTimeout as sleep } from 'node:timers/promises'
import got from 'got'
import type { WebhookStatus } from '../control/activity/health/health.ts'
import { noticeId } from '../control/tasks/notices/announced.ts'
import type { State } from '../control/tasks/notices/decide.ts'
import { webhookKey } from '../delivery/targets.ts'
import { isHashedId } from '../settings/suppression-list.ts'
import type { Cut } from './account.ts'
import type { Fault } from './plan.ts'
import type { Sluice } from './sluice.ts'

/** The source of notices, and the destination that gets them. */
export const NOTICES = 'notices'
export const ALARM = 'alarm'
export const NOTICE_DELAY_MS = 5_000
/** Control checks every 5 s, and is slow on a busy machine. */
const LONG_MS = NOTICE_DELAY_MS + 30_000
const LOOK_MS = 2_000
/** Between two looks, so much may pass that control was frozen. */
const MAX_GAP_MS = 10_000

/** `crm/0`: a destination with the position of its webhook. */
type Place = string
const placeOf = (destinationId: string, urlIndex: number): Place => `${destinationId}/${urlIndex}`

const isTrouble = (state: State): boolean => state !== 'healthy'

/** Of a permanent webhook. `id`: see `noticeId`. */
export type Webhook = { place: Place; id: string }

export const webhooksOf = (destinationId: string, urls: readonly string[]): Webhook[] =>
  urls.map((url, urlIndex) => ({
    place: placeOf(destinationId, urlIndex),
    id: noticeId(webhookKey(destinationId, urlIndex, url)),
  }))

/** In topic `events`. */
export type Notice = { messageId: string; place: Place; state: State }

export function noticeIn({
  messageId,
  properties,
}: {
  messageId: string
  properties: string | null
}): Notice {
  const { destinationId, urlIndex, state } = JSON.parse(properties ?? '{}')
  return { messageId, place: placeOf(destinationId, urlIndex), state }
}

/** Whether control cannot see webhooks, or cannot write notices, during this fault. */
export function hidesHealth(fault: Fault): boolean {
  if (fault.kind === 'kill-broker' || fault.kind === 'freeze-broker' || fault.kind === 'cut-power')
    return true
  return 'role' in fault && fault.role === 'control' && fault.kind !== 'step-clock'
}

/** What control showed. `states`: undefined if it could not see the webhooks, or could not write notices. */
export type Look = { at: number; states: ReadonlyMap<Place, WebhookStatus> | undefined }

export type Watch = {
  /** Of a fault that hides the health. */
  during<T>(fault: Promise<T>): Promise<T>
  looks: readonly Look[]
  close(): Promise<void>
}

/** Looks every 2 s at what control shows of these destinations. */
export function watchHealth(sluice: Pick<Sluice, 'api' | 'env'>, destinationIds: readonly string[]): Watch {
  const looks: Look[] = []
  let [away, faults, closed] = [0, 0, false]

  async function look(): Promise<Look> {
    const [at, before, writer] = [performance.now(), faults, await writerOf(sluice)]
    const found = await Promise.all(destinationIds.map((id) => statesOf(sluice, id)))
    const isSure = writer !== undefined && writer === (await writerOf(sluice))
    return { at, states: isSure && away === 0 && faults === before ? new Map(found.flat()) : undefined }
  }

  async function watch(): Promise<void> {
    while (!closed) {
      looks.push(await look().catch(() => ({ at: performance.now(), states: undefined })))
      await sleep(LOOK_MS)
    }
  }

  const watching = watch()
  return {
    looks,
    async during(fault) {
      away += 1
      faults += 1
      looks.push({ at: performance.now(), states: undefined })
      try {
        return await fault
      } finally {
        away -= 1
      }
    },
    async close() {
      closed = true
      await watching
    },
  }
}

/** When this control process began, if it is the one that writes notices. */
async function writerOf({ env }: Pick<Sluice, 'env'>): Promise<string | undefined> {
  const options = { timeout: { request: LOOK_MS }, retry: { limit: 0 } }
  const metrics = await got(`http://127.0.0.1:${env.CONTROL_PORT}/metrics`, options).text()
  const writes = /^sluice_consumer_partitions\{group="control.tasks",topic="tasks"\} 1$/m.test(metrics)
  return writes ? /^process_start_time_seconds (.+)$/m.exec(metrics)?.[1] : undefined
}

type Shown = { endpoints: { urlIndex: number; state: WebhookStatus }[] }

async function statesOf({ api }: Pick<Sluice, 'api'>, id: string): Promise<[Place, WebhookStatus][]> {
  const { endpoints } = (await api('GET', `destinations/${id}/health`)) as Shown
  return endpoints.map(({ urlIndex, state }) => [placeOf(id, urlIndex), state])
}

/**
 * Whether this webhook was in trouble, each time control saw that for long enough to write a notice. In order; the next
 * entry is always different, and the first is a trouble.
 */
export function longTroubles(looks: readonly Look[], place: Place): boolean[] {
  const long: boolean[] = []
  let since: { inTrouble: boolean; at: number; seenAt: number } | undefined
  for (const { at, states } of looks) {
    const state = states?.get(place)
    if (state === undefined || state === 'idle' || state === 'paused') {
      since = undefined
      continue
    }
    const inTrouble = isTrouble(state)
    const isSame = since?.inTrouble === inTrouble && at - since.seenAt < MAX_GAP_MS
    since = { inTrouble, at: isSame && since ? since.at : at, seenAt: at }
    if (at - since.at >= LONG_MS && inTrouble !== (long.at(-1) ?? false)) long.push(inTrouble)
  }
  return long
}

export type NoticeFacts = {
  webhooks: readonly Webhook[]
  looks: readonly Look[]
  /** In the order of writing; repeats with the same id are copies. */
  notices: readonly Notice[]
  /** The states that topic `tasks` keeps, in the order of writing, by id. */
  remembered: ReadonlyMap<string, readonly State[]>
  /** What power cuts removed from Kafka. */
  cuts: readonly Pick<Cut, 'kind' | 'keys'>[]
}

export type NoticeAccount = {
  /** With different ids. */
  notices: number
  /** States that control saw for long enough. */
  seen: number
  /** Written again with another id, because control could not remember the first one. */
  repeated: number
  /** Each list must be empty. */
  missing: {
    /** Without a notice: a state seen for long enough, or remembered. */
    unannounced: string[]
    /** Two notices of the same state in a row, although control remembered the first one. */
    again: string[]
  }
}

/** Notices about permanent webhooks. */
export function accountNotices({ webhooks, looks, notices, remembered, cuts }: NoticeFacts): NoticeAccount {
  const distinct = [...new Map(notices.map((notice) => [notice.messageId, notice])).values()]
  const found = webhooks.map(({ place, id }) => {
    const states = distinct.filter((notice) => notice.place === place).map(({ state }) => state)
    const kept = remembered.get(id) ?? []
    const seen = longTroubles(looks, place)
    const rows = pairsOf(states)
    return {
      place,
      notices: states.length,
      seen: seen.length,
      repeated: rows,
      unannounced: missingIn(states, kept) + missingIn(states.map(isTrouble), seen),
      // one that was not remembered, because control ended or lost Kafka, explains one pair
      again: pairsOf(kept) + Math.max(0, rows - Math.max(0, states.length - kept.length)),
    }
  })
  const sum = (of: 'notices' | 'seen' | 'repeated') => found.reduce((total, each) => total + each[of], 0)
  const list = (of: 'unannounced' | 'again') =>
    found.flatMap((each) => Array<string>(each[of]).fill(each.place))
  return {
    notices: sum('notices'),
    seen: sum('seen'),
    repeated: sum('repeated'),
    missing: { unannounced: list('unannounced').slice(lostNotices(cuts, notices)), again: list('again') },
  }
}

/** How many of `expected` are not in `all`, in the same order. */
function missingIn<T>(all: readonly T[], expected: readonly T[]): number {
  let from = 0
  let missing = 0
  for (const each of expected) {
    const at = all.indexOf(each, from)
    if (at === -1) missing += 1
    else from = at + 1
  }
  return missing
}

const pairsOf = (states: readonly State[]): number =>
  states.filter((state, index) => index > 0 && states[index - 1] === state).length

export const noticesHold = ({ missing }: NoticeAccount): boolean =>
  missing.unannounced.length + missing.again.length === 0

/** Notices among the lost events that were not written again. */
function lostNotices(cuts: NoticeFacts['cuts'], notices: readonly Notice[]): number {
  const there = new Set(notices.map(({ messageId }) => messageId))
  const keys = cuts.flatMap(({ kind, keys }) => (kind === 'events' && keys ? [...keys.values()] : []))
  return new Set(keys.filter((key) => isHashedId(key) && !there.has(key))).size
}
