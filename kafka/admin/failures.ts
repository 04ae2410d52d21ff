import type { Logger } from '../../process/log.ts'
import { ConfigError, isUntrusted } from '../../process/pem.ts'

/** Something that Kafka did not do. */
export type Failure = {
  /** Failures of one kind are logged as one. */
  kind: string
  text: string
  err?: unknown
  fields?: object
  /** Since when it fails, in ms of the monotonic clock, where that is known. */
  since?: number | undefined
  /** It is not tried again. */
  isFinal?: boolean
}

/**
 * Logs what fails in Kafka, and is tried again: an outage makes dozens of failures a second. A line for each change of state, then one a minute.
 */
export type FailureLog = {
  add(failure: Failure): void
  /** A broker has answered. */
  answered(): void
  /** Since when brokers answer, in ms of the same clock as `now`; undefined while Kafka counts as away. */
  reachableSince(): number | undefined
}

/** Without an answer of any broker for so long, Kafka counts as away. */
const SILENT_MS = 5_000
/** What passes sooner is no news: a coordinator that loads, a partition whose leader moves. */
const GRACE_MS = 10_000
/** What comes again later than this had passed. */
const GAP_MS = 15_000
const REPEAT_MS = 60_000
const MAX_KINDS = 100

/** Failures of one kind, one after another. Times in ms. */
type Run = { since: number; lastAt: number; loggedAt: number; suppressed: number }

const begun = (since: number): Run => ({
  since,
  lastAt: since,
  loggedAt: Number.NEGATIVE_INFINITY,
  suppressed: 0,
})

/** @param now monotonic, in ms. */
export function createFailureLog(
  log: Pick<Logger, 'debug' | 'info' | 'warn'>,
  now: () => number = () => performance.now(),
): FailureLog {
  const runs = new Map<string, Run>()
  let answeredAt = now()
  let reachableSince = answeredAt
  let hasAnswered = false
  let outage: Run | undefined

  function logged(run: Run, at: number): { seconds: number; suppressed: number } {
    const { since, suppressed } = run
    Object.assign(run, { loggedAt: at, suppressed: 0 })
    return { seconds: Math.round((at - since) / 1_000), suppressed }
  }

  /** Whatever fails now fails for the same reason. */
  function away(failure: Failure, at: number): void {
    outage ??= begun(answeredAt)
    if (at - outage.loggedAt < REPEAT_MS) {
      outage.suppressed += 1
      return
    }
    const reason = reasonOf(failure)
    // the settings have been right before
    const settings = hasAnswered ? {} : { settings: 'KAFKA_BROKERS', ...settingsIn(reason) }
    log.warn({ reason, ...settings, ...logged(outage, at) }, 'Kafka cannot be reached')
  }

  function runOf(kind: string, at: number): Run {
    const known = runs.get(kind)
    if (known && at - known.lastAt < REPEAT_MS) {
      if (at - known.lastAt > GAP_MS) known.since = at
      return known
    }
    if (runs.size >= MAX_KINDS) runs.clear()
    const fresh = begun(at)
    runs.set(kind, fresh)
    return fresh
  }

  return {
    add(failure) {
      const at = now()
      const reason = reasonOf(failure)
      // what the client says is in the debug log already
      if (failure.err instanceof Error) log.debug({ err: failure.err, ...failure.fields }, failure.text)
      // what a setting is about does not pass by itself, and says more than that nobody answers
      const isLasting = settingsOf(reason) !== undefined || failure.isFinal === true
      if (!isLasting && at - answeredAt > SILENT_MS) return away(failure, at)
      const run = runOf(failure.kind, at)
      run.lastAt = at
      run.since = failure.since ?? run.since
      if ((!isLasting && at - run.since < GRACE_MS) || at - run.loggedAt < REPEAT_MS) run.suppressed += 1
      else log.warn({ reason, ...failure.fields, ...settingsIn(reason), ...logged(run, at) }, failure.text)
    },
    answered() {
      answeredAt = now()
      hasAnswered = true
      if (!outage) return
      log.info(logged(outage, answeredAt), 'Kafka can be reached again')
      outage = undefined
      reachableSince = answeredAt
      runs.clear()
    },
    reachableSince: () => (outage || now() - answeredAt > SILENT_MS ? undefined : reachableSince),
  }
}

/** In one line: a stack says where the client gave up, not why. */
function reasonOf({ err, text }: Failure): string {
  if (err === undefined) return text
  return err instanceof Error ? err.message : String(err)
}

function settingsIn(reason: string): { settings?: string } {
  const settings = settingsToLookAt(reason)
  return settings === undefined ? {} : { settings }
}

/** What is tried, in this order, on the words of kafkajs, Node, OpenSSL and the broker. */
const ABOUT: readonly [(message: string) => boolean, string][] = [
  [
    (message) => /mechanism is not supported|not support the requested SASL mechanism/.test(message),
    'KAFKA_SASL_MECHANISM',
  ],
  // to a listener without SASL
  [(message) => /current SASL state/.test(message), 'KAFKA_SASL_MECHANISM'],
  // kafkajs calls so also what broke the connection meanwhile
  [
    (message) => /^SASL .+ failed: /.test(message) && !/closed|connection|timed out/i.test(message),
    'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD',
  ],
  [isUntrusted, 'KAFKA_SSL_CA'],
  [(message) => /does not match certificate's altnames/.test(message), 'KAFKA_BROKERS'],
  [
    (message) => /alert (certificate required|bad certificate|unknown ca)/.test(message),
    'KAFKA_SSL_CERT, KAFKA_SSL_KEY',
  ],
  // its user lacks rights (ACLs) on a topic, a group or the cluster
  [(message) => /authorization failed/i.test(message), 'KAFKA_SASL_USERNAME'],
]

/** The settings that a failure to get into Kafka is about. Undefined: about none, so that it may pass. */
export function settingsOf(message: string): string | undefined {
  return ABOUT.find(([says]) => says(message))?.[1]
}

/** What may pass by itself, and then was not about them. */
const MAYBE_ABOUT: typeof ABOUT = [
  // to a listener without TLS, or a broker that is killed just then
  [(message) => /before secure TLS connection was established/.test(message), 'KAFKA_SSL'],
  [(message) => /^Failed to connect to seed broker/.test(message), 'KAFKA_BROKERS'],
]

/** The settings to look at when a failure to get into Kafka does not pass. */
export const settingsToLookAt = (message: string): string | undefined =>
  settingsOf(message) ?? MAYBE_ABOUT.find(([says]) => says(message))?.[1]

/** A refusal that stays as long as the settings do, as one of these; any other error as it is. */
export function asConfigError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : ''
  const settings = settingsOf(message)
  return settings === undefined ? error : new ConfigError([`${settings}: ${message}`])
}
