import { endedOf } from '../delivery/breaker.ts'
import type { Posted } from '../delivery/ladder.ts'
import { type Outcome, recorded } from '../delivery/outcome.ts'
import type { Poster } from '../delivery/post.ts'
import { withoutSecrets } from '../delivery/redact-response.ts'
import { request } from '../delivery/request.ts'
import type { Target } from '../delivery/targets.ts'
import type { Taken } from '../kafka/consume/record.ts'
import type { Delivery } from '../schemas/delivery.ts'
import type { Destination } from '../settings/settings.ts'
import type { Lane } from './lane/lane.ts'
import type { Refusal, Turn } from './lane/state.ts'

/**
 * The result of a round. `posted`: POSTs that have ended, and URLs that were deferred. `untried`: some targets were not
 * tried, because the settings have changed or the partition was given up. `dropped`: the targets that still waited when
 * the partition was given up. `waitMs`: the shortest wait that a refusal advised. `fault`: an error of ours.
 */
export type Tried = {
  posted: readonly Posted[]
  untried: boolean
  dropped: readonly Target[]
  waitMs: number
  fault?: unknown
}

export type RoundParts = {
  lane: Pick<Lane, 'offer'>
  poster: Pick<Poster, 'post'>
  /** The destination as it is when its turn has come. */
  destination: (id: string) => Destination | undefined
  /** A POST has ended and its response is read, maybe after the round; or a URL was passed over. */
  onPosted: (delivery: Delivery, posted: Posted) => void
}

/**
 * One attempt: a POST to each target, all at once as far as the limits of their webhooks allow. `ended` is called once:
 * when one POST has delivered and no other waits to begin, or else when none is left. A POST that is still under way
 * then ends by itself.
 */
export function startRound(
  record: Taken<Delivery>,
  targets: readonly Target[],
  parts: RoundParts,
  ended: (tried: Tried) => void,
): void {
  const posted: Posted[] = []
  const dropped: Target[] = []
  let waitMs = Number.POSITIVE_INFINITY
  let left = targets.length
  let waiting = targets.length
  let untried = false
  let delivered = false
  let over = false

  function leave(one?: Posted): void {
    left -= 1
    if (over) return
    if (one) posted.push(one)
    else untried = true
    delivered ||= one?.outcome.outcome === 'delivered'
    endWhenOver()
  }

  /** Each URL gets each event: a URL that waits for a slot still gets it when another has succeeded. */
  function endWhenOver(): void {
    if (over || !(left === 0 || (delivered && waiting === 0))) return
    over = true
    ended({ posted, untried, dropped, waitMs })
  }

  function passOver({ urlIndex, url }: Target, refusal: Refusal): void {
    waitMs = Math.min(waitMs, refusal.waitMs)
    const outcome: Outcome = { outcome: 'deferred', code: refusal.code }
    const one = { urlIndex, url, startedAt: Date.now(), durationMs: 0, outcome, response: null }
    parts.onPosted(record.value, one)
    waiting -= 1
    leave(one)
  }

  function fail(fault: unknown): void {
    if (over) return
    over = true
    ended({ posted, untried, dropped, waitMs, fault })
  }

  for (const target of targets) {
    const refusal = parts.lane.offer(target, {
      bytes: record.value.body.length,
      wanted: () => !over && record.owned(),
      begin(turn) {
        waiting -= 1
        try {
          begin(record, target, { ...parts, turn, leave })
        } catch (error) {
          turn.done()
          fail(error)
        }
        endWhenOver()
      },
      passOver: (refused) => passOver(target, refused),
      drop() {
        waiting -= 1
        dropped.push(target)
        leave()
      },
    })
    if (refusal) passOver(target, refusal)
  }
}

type Turned = RoundParts & { turn: Turn; leave: (one?: Posted) => void }

function begin(
  { value: delivery, trace }: Taken<Delivery>,
  target: Target,
  { turn, leave, poster, destination: settings, onPosted }: Turned,
): void {
  const { destinationId } = delivery
  const destination = settings(destinationId)
  const urlIndex = destination?.enabled ? indexOf(target, destination) : -1
  if (!destination || urlIndex < 0) {
    leave()
    turn.done()
    return
  }
  const { url, origin } = target
  const startedAt = Date.now()
  const attempt = delivery.attempt + 1
  let one: Posted | undefined
  const made = request(delivery, { destination, urlIndex, attempt, now: startedAt })
  const posted = trace?.post({ origin, urlIndex, destinationId, attempt })
  poster.post(made, {
    connected: turn.connected,
    heard(outcome, durationMs, sent) {
      posted?.(recorded(outcome))
      one = { urlIndex, url, startedAt, durationMs, outcome, response: null }
      const end = endedOf(outcome)
      if (end) turn.heard(end, sent || isOfCertificate(outcome))
      leave(one)
    },
    ended(response) {
      try {
        if (one) onPosted(delivery, { ...one, response: withoutSecrets(response, destination) })
      } finally {
        turn.done()
      }
    },
  })
}

/** The certificate was refused: the host was reached, although no request was sent. */
const isOfCertificate = (outcome: Outcome) => outcome.outcome === 'refused' && outcome.code.startsWith('tls_')

/** Where the URL is now: two webhooks may have the same, with other headers. */
function indexOf({ url, urlIndex }: Target, { webhooks }: Destination): number {
  return webhooks[urlIndex]?.url === url ? urlIndex : webhooks.findIndex((webhook) => webhook.url === url)
}
