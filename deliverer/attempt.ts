import { endedOf } from '../delivery/breaker.ts'
import type { AttemptResult } from '../delivery/ladder.ts'
import { type Outcome, recorded } from '../delivery/outcome.ts'
import type { Listener } from '../delivery/post/exchange.ts'
import type { Poster } from '../delivery/post/post.ts'
import { withoutSecrets } from '../delivery/redact-response.ts'
import { request } from '../delivery/request.ts'
import type { Target } from '../delivery/targets.ts'
import type { ConsumerRecord } from '../kafka/consume/record.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../settings/settings.ts'
import type { Trace } from '../trace/trace.ts'
import type { LoggedResult } from './attempt-log.ts'
import type { Lane } from './lane/lane.ts'
import type { Job, Refusal, SlotLease } from './lane/state.ts'

/** POSTs still in flight no longer count. */
export type Attempted = {
  results: readonly AttemptResult[]
  /** Some targets were skipped: the settings have changed, or the partition was revoked. */
  hasSkipped: boolean
  dropped: readonly Target[]
  waitMs: number
  fault?: unknown
}

export type AttemptParts = {
  lane: Pick<Lane, 'offer'>
  poster: Pick<Poster, 'post'>
  /** Read when the POST begins, not when it is queued. */
  destination: (id: string) => Destination | undefined
  /** Called for each POST and each deferred webhook, possibly after the attempt is over. */
  onAttempt: (delivery: Delivery, result: LoggedResult) => void
}

export type AttemptTask = {
  record: ConsumerRecord<Delivery>
  targets: readonly Target[]
  done: (attempted: Attempted) => void
}

/**
 * POSTs to all targets at once, as far as the lane allows. Calls `done` once: when no POST is left, or one has
 * delivered and none waits to begin.
 */
export function attempt(task: AttemptTask, parts: AttemptParts): void {
  const delivery = new DeliveryAttempt(task, parts)
  for (const target of task.targets) {
    const webhookAttempt = new WebhookAttempt(delivery, target)
    const refusal = parts.lane.offer(target, webhookAttempt)
    if (refusal) webhookAttempt.defer(refusal)
  }
}

/** A class, because closures for each POST would cost more. */
class DeliveryAttempt {
  readonly record: ConsumerRecord<Delivery>
  readonly parts: AttemptParts
  readonly #done: (attempted: Attempted) => void
  readonly #results: AttemptResult[] = []
  readonly #dropped: Target[] = []
  #waitMs = Number.POSITIVE_INFINITY
  /** Targets whose POST has not ended, and those whose POST has not begun. */
  #unfinished: number
  #waiting: number
  #hasSkipped = false
  #isDelivered = false
  #isOver = false

  constructor({ record, targets, done }: AttemptTask, parts: AttemptParts) {
    this.record = record
    this.parts = parts
    this.#done = done
    this.#unfinished = targets.length
    this.#waiting = targets.length
  }

  isOver(): boolean {
    return this.#isOver
  }

  began(): void {
    this.#waiting -= 1
  }

  deferred(result: AttemptResult, waitMs: number): void {
    this.#waitMs = Math.min(this.#waitMs, waitMs)
    this.#waiting -= 1
    this.ended(result)
  }

  dropped(target: Target): void {
    this.#waiting -= 1
    this.leftOut(target)
  }

  /** It gets the event later, even if another webhook has it. */
  leftOut(target: Target): void {
    this.#dropped.push(target)
    this.skipped()
  }

  skipped(): void {
    this.#hasSkipped = true
    this.#finishOne()
  }

  /** @returns whether it is the first 2xx of the delivery. */
  ended(result: AttemptResult): boolean {
    const isDelivered = result.outcome.outcome === 'delivered'
    const isFirst = isDelivered && !this.#isDelivered && !this.record.value.delivered
    if (!this.#isOver) this.#results.push(result)
    if (isDelivered) this.#isDelivered = true
    this.#finishOne()
    return isFirst
  }

  #finishOne(): void {
    this.#unfinished -= 1
    this.endWhenDone()
  }

  /** A webhook that waits for a slot gets its POST even after another has succeeded. */
  endWhenDone(): void {
    if (this.#unfinished === 0 || (this.#isDelivered && this.#waiting === 0)) this.#end()
  }

  fail(fault: unknown): void {
    this.#end(fault)
  }

  #end(fault?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#done({
      results: this.#results,
      hasSkipped: this.#hasSkipped,
      dropped: this.#dropped,
      waitMs: this.#waitMs,
      fault,
    })
  }
}

/** The outcome comes first, the body last. */
class WebhookAttempt implements Job, Listener {
  readonly bytes: number
  readonly #delivery: DeliveryAttempt
  readonly #target: Target
  #lease: SlotLease | undefined
  #destination: Destination | undefined
  #urlIndex = -1
  #startedAt = 0
  #endSpan: ReturnType<Trace['post']> | undefined
  #result: AttemptResult | undefined
  #settles = false

  constructor(delivery: DeliveryAttempt, target: Target) {
    this.bytes = delivery.record.value.body.length
    this.#delivery = delivery
    this.#target = target
  }

  isNeeded(): boolean {
    return !this.#delivery.isOver() && this.#delivery.record.owned()
  }

  drop(): void {
    this.#delivery.dropped(this.#target)
  }

  defer({ code, waitMs }: Refusal): void {
    const { urlIndex, url } = this.#target
    const { record, parts } = this.#delivery
    const outcome: Outcome = { outcome: 'deferred', code }
    const result = { urlIndex, url, startedAt: Date.now(), durationMs: 0, outcome, response: null }
    parts.onAttempt(record.value, { ...result, settles: false })
    this.#delivery.deferred(result, waitMs)
  }

  begin(lease: SlotLease): void {
    this.#lease = lease
    this.#delivery.began()
    try {
      this.#post(lease)
    } catch (error) {
      lease.release()
      this.#delivery.fail(error)
    }
    this.#delivery.endWhenDone()
  }

  #post(lease: SlotLease): void {
    const { record, parts } = this.#delivery
    const { destinationId, attempt: before } = record.value
    const destination = parts.destination(destinationId)
    const urlIndex = destination?.enabled ? currentIndex(this.#target, destination) : -1
    if (!destination || urlIndex < 0 || destination.paused) {
      if (urlIndex < 0) this.#delivery.skipped()
      else this.#delivery.leftOut(this.#target)
      lease.release()
      return
    }
    const { origin } = this.#target
    const attempt = before + 1
    this.#destination = destination
    this.#urlIndex = urlIndex
    this.#startedAt = Date.now()
    const post = request(record.value, { destination, urlIndex, attempt, now: this.#startedAt })
    this.#endSpan = record.trace?.post({ origin, urlIndex, destinationId, attempt })
    parts.poster.post(post, this)
  }

  onConnected(): void {
    this.#lease?.connected()
  }

  onOutcome(outcome: Outcome, durationMs: number, sent: boolean): void {
    this.#endSpan?.(recorded(outcome))
    const { url } = this.#target
    const result = {
      urlIndex: this.#urlIndex,
      url,
      startedAt: this.#startedAt,
      durationMs,
      outcome,
      response: null,
    }
    this.#result = result
    const ended = endedOf(outcome)
    if (ended) this.#lease?.ended(ended, sent || isOfWebhook(outcome))
    this.#settles = this.#delivery.ended(result)
  }

  onEnd(response: string | null): void {
    const { record, parts } = this.#delivery
    try {
      if (this.#result && this.#destination)
        parts.onAttempt(record.value, {
          ...this.#result,
          response: withoutSecrets(response, this.#destination),
          settles: this.#settles,
        })
    } finally {
      this.#lease?.release()
    }
  }
}

/** No request was sent, but not because the host is unreachable: a bad certificate, or a flood (tls-floods.ts). */
const isOfWebhook = (outcome: Outcome) =>
  outcome.outcome === 'refused'
    ? outcome.code.startsWith('tls_')
    : outcome.outcome === 'retry' && outcome.code === 'protocol_error'

/** Webhooks may share a URL with different headers, so the position decides while its URL is the same. */
function currentIndex({ url, urlIndex }: Target, { webhooks }: Destination): number {
  return webhooks[urlIndex]?.url === url ? urlIndex : webhooks.findIndex((webhook) => webhook.url === url)
}
