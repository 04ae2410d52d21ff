import pRetry from 'p-retry'
import { ConfigError } from '../../process/config-error.ts'
import type { Logger } from '../../process/log.ts'
import { isUntrusted } from '../../process/pem.ts'
import { messageOf } from '../../process/thrown.ts'

export type Failure = {
  /** Failures of one kind share their log lines. */
  kind: string
  text: string
  err?: unknown
  fields?: object
  /** When the failures began, by the monotonic clock in ms. */
  since?: number | undefined
  /** Not retried. */
  isFinal?: boolean
}

/** Logs retried failures: one line per change of state, then one a minute. */
export type FailureLog = {
  add(failure: Failure): void
  answered(): void
  /** By the clock `now`; undefined while Kafka counts as unreachable. */
  reachableSince(): number | undefined
}

/** Without any answer for this long, Kafka counts as unreachable. */
const SILENT_MS = 5_000
/** Shorter failures are normal, such as a leader that moves. */
const GRACE_MS = 10_000
/** After a longer gap, a failure counts as new. */
const GAP_MS = 15_000
const REPEAT_MS = 60_000
const MAX_KINDS = 100

/** @param now monotonic, in ms. */
export function createFailureLog(
  log: Pick<Logger, 'debug' | 'info' | 'warn'>,
  now: () => number = () => performance.now(),
): FailureLog {
  const failures = new Failures(log, now)
  return {
    add: (failure) => failures.add(failure),
    answered: () => failures.answered(),
    reachableSince: () => failures.reachableSince(),
  }
}

/** Times in ms. */
type Run = { since: number; lastAt: number; loggedAt: number; suppressed: number }

const newRun = (since: number): Run => ({
  since,
  lastAt: since,
  loggedAt: Number.NEGATIVE_INFINITY,
  suppressed: 0,
})

class Failures {
  readonly #log: Pick<Logger, 'debug' | 'info' | 'warn'>
  readonly #now: () => number
  readonly #runs = new Map<string, Run>()
  #outage: Run | undefined
  #answeredAt: number
  #reachableAt: number
  #hasAnswered = false

  constructor(log: Pick<Logger, 'debug' | 'info' | 'warn'>, now: () => number) {
    this.#log = log
    this.#now = now
    this.#answeredAt = now()
    this.#reachableAt = this.#answeredAt
  }

  add(failure: Failure): void {
    const at = this.#now()
    const reason = reasonOf(failure)
    // kafkajs's own messages are in the debug log already
    if (failure.err instanceof Error) this.#log.debug({ err: failure.err, ...failure.fields }, failure.text)
    // a wrong setting does not fix itself, and its message says more
    const isLasting = settingsOf(reason) !== undefined || failure.isFinal === true
    if (!isLasting && at - this.#answeredAt > SILENT_MS) {
      this.#addToOutage(reason, at)
      return
    }
    const run = this.#runOf(failure.kind, at)
    run.lastAt = at
    // after an outage, everything takes a while
    run.since = Math.max(failure.since ?? run.since, this.#reachableAt)
    if ((!isLasting && at - run.since < GRACE_MS) || at - run.loggedAt < REPEAT_MS) run.suppressed += 1
    else
      this.#log.warn({ reason, ...failure.fields, ...settingsIn(reason), ...logged(run, at) }, failure.text)
  }

  #addToOutage(reason: string, at: number): void {
    this.#outage ??= newRun(this.#answeredAt)
    if (at - this.#outage.loggedAt < REPEAT_MS) {
      this.#outage.suppressed += 1
      return
    }
    // once a broker has answered, the settings are right
    const settings = this.#hasAnswered ? {} : { settings: 'KAFKA_BROKERS', ...settingsIn(reason) }
    this.#log.warn({ reason, ...settings, ...logged(this.#outage, at) }, 'Kafka cannot be reached')
  }

  #runOf(kind: string, at: number): Run {
    const known = this.#runs.get(kind)
    if (known && at - known.lastAt < REPEAT_MS) {
      if (at - known.lastAt > GAP_MS) known.since = at
      return known
    }
    if (this.#runs.size >= MAX_KINDS) this.#runs.clear()
    const run = newRun(at)
    this.#runs.set(kind, run)
    return run
  }

  answered(): void {
    this.#answeredAt = this.#now()
    this.#hasAnswered = true
    if (!this.#outage) return
    this.#log.info(logged(this.#outage, this.#answeredAt), 'Kafka can be reached again')
    this.#outage = undefined
    this.#reachableAt = this.#answeredAt
    this.#runs.clear()
  }

  reachableSince(): number | undefined {
    return this.#outage || this.#now() - this.#answeredAt > SILENT_MS ? undefined : this.#reachableAt
  }
}

function logged(run: Run, at: number): { seconds: number; suppressed: number } {
  const { since, suppressed } = run
  Object.assign(run, { loggedAt: at, suppressed: 0 })
  return { seconds: Math.round((at - since) / 1_000), suppressed }
}

/** Without the stack trace, which does not say why. */
function reasonOf({ err, text }: Failure): string {
  return err === undefined ? text : messageOf(err)
}

function settingsIn(reason: string): { settings?: string } {
  const settings = settingsToLookAt(reason)
  return settings === undefined ? {} : { settings }
}

/** The first match wins. */
const HINTS: readonly [(message: string) => boolean, string][] = [
  [
    (message) => /mechanism is not supported|not support the requested SASL mechanism/.test(message),
    'KAFKA_SASL_MECHANISM',
  ],
  // a listener without SASL
  [(message) => /current SASL state/.test(message), 'KAFKA_SASL_MECHANISM'],
  // kafkajs prefixes errors of the connection too
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
  // the user lacks rights (ACLs)
  [(message) => /authorization failed/i.test(message), 'KAFKA_SASL_USERNAME'],
]

/** @returns the wrong settings; undefined when the failure may be temporary. */
export function settingsOf(message: string): string | undefined {
  return HINTS.find(([matches]) => matches(message))?.[1]
}

/** These may also be temporary. */
const WEAK_HINTS: typeof HINTS = [
  // a listener without TLS, or a broker that was just killed
  [(message) => /before secure TLS connection was established/.test(message), 'KAFKA_SSL'],
  [(message) => /^Failed to connect to seed broker/.test(message), 'KAFKA_BROKERS'],
]

export const settingsToLookAt = (message: string): string | undefined =>
  settingsOf(message) ?? WEAK_HINTS.find(([matches]) => matches(message))?.[1]

/** @returns a ConfigError when only other settings help. */
export function asConfigError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : ''
  const settings = settingsOf(message)
  return settings === undefined ? error : new ConfigError([`${settings}: ${message}`])
}

/** Adds the topics and the reasons: kafkajs says only "Topic creation errors". */
export function asTopicError(error: unknown): unknown {
  if (!(error instanceof Error && 'errors' in error && Array.isArray(error.errors))) return error
  const errors: readonly { message?: unknown; topic?: unknown }[] = error.errors
  const byReason = Map.groupBy(errors, ({ message }) => message)
  const faults = [...byReason].map(([reason, of]) => `${reason} (${of.map(({ topic }) => topic).join(', ')})`)
  return new Error(`Kafka did not create topics: ${faults.join('; ')}`, { cause: error })
}

/** Options of p-retry. Wrong settings are not retried. */
export const whileAway = {
  retries: 8,
  minTimeout: 250,
  maxTimeout: 4_000,
  shouldRetry: ({ error }: { error: Error }) => settingsOf(error.message) === undefined,
}

/**
 * Retries a step of a start up to 8 times. This takes two to three minutes if connections are refused, because kafkajs
 * itself gives up after 15 s, but only 20 s if a broker resets them while kafkajs asks for metadata.
 * @param isClosed whether the client is no longer wanted.
 */
export const untilBack = <T>(step: () => Promise<T>, isClosed = () => false): Promise<T> =>
  pRetry(step, {
    ...whileAway,
    shouldRetry: (context) => !isClosed() && whileAway.shouldRetry(context),
  })
