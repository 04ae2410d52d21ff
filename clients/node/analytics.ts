import type { Alias, CallType, Group, Identify, Page, Screen, Track } from './calls.ts'
import { debug, isDebug, masked, withoutQuery } from './debug.ts'
import { deliverer } from './deliver.ts'
import { encode } from './encode.ts'
import { callsOf, fault } from './errors.ts'
import { LIBRARY } from './library.ts'
import type { Options } from './options.ts'
import { poster } from './post.ts'
import { whenTerminated } from './process-end.ts'
import { Queue } from './queue.ts'
import { reporter } from './report.ts'
import { Sender } from './sender.ts'
import { readSettings, type Settings } from './settings.ts'
import { isoClock } from './timestamp.ts'
import { uuids } from './uuid.ts'

/** The time that onFailure has after `closeTimeout`. */
const GRACE_MS = 1_000

/** Shared by all clients of the process, so that all ids ascend. */
const newId = uuids(Date.now)
const timestamp = isoClock(Date.now)

/**
 * Queues calls in memory and sends them in batches in the background. A process needs only one client.
 *
 * Each of the six methods checks the call, queues it and returns without a request. It throws an AnalyticsError if the call is
 * invalid or larger than 32,768 bytes as JSON, if the queue is full (`queue_full`) or if the client is closed (`closed`). A queued
 * call is either delivered or passed to `onFailure`. The call is serialized at once, so you may change it afterwards.
 */
export class Analytics {
  readonly #sender: Sender
  readonly #settings: Settings
  readonly #closeConnections: () => void
  #closing: Promise<void> | undefined
  readonly #onSigterm = () => this.close()

  /** @throws AnalyticsError `write_key_required`, `invalid_endpoint` or `invalid_option`. */
  constructor(options: Options) {
    const settings = readSettings(options)
    const print = isDebug(process.env.DEBUG) ? debug : undefined
    const { post, close } = poster(settings)
    this.#settings = settings
    this.#closeConnections = close
    this.#sender = new Sender({
      queue: new Queue(settings),
      deliver: deliverer({ post, settings, debug: print }),
      report: reporter(settings.onFailure),
      debug: print,
      settings,
    })
    if (settings.closeOnSigterm) whenTerminated.add(this.#onSigterm)
    print?.('new', {
      version: LIBRARY.version,
      endpoint: withoutQuery(settings.endpoint),
      writeKey: masked(settings.writeKey),
    })
  }

  /** Sets traits of a user. */
  identify(call: Identify): void {
    this.#call('identify', call)
  }

  /** Records an action of a user. */
  track(call: Track): void {
    this.#call('track', call)
  }

  /** Records a page view. */
  page(call: Page): void {
    this.#call('page', call)
  }

  /** Records a view of an app's screen. */
  screen(call: Screen): void {
    this.#call('screen', call)
  }

  /** Adds a user to a group. */
  group(call: Group): void {
    this.#call('group', call)
  }

  /** Merges two ids of one user. */
  alias(call: Alias): void {
    this.#call('alias', call)
  }

  /**
   * Resolves when the queue has room for a call of any size. For programs that make calls faster than they can be sent: await it right
   * before each call. Waiters continue in order, and only as many as there is room for; each keeps its room until the end of that
   * turn of the event loop. Rejects with `closed` if the client is closed.
   */
  async room(): Promise<void> {
    this.#refuseWhenClosed()
    await this.#sender.room()
    this.#refuseWhenClosed()
  }

  /**
   * Sends all queued calls now. Resolves when each is delivered or `onFailure` has finished with it. Never rejects.
   */
  flush(): Promise<void> {
    return this.#sender.flush()
  }

  /**
   * Rejects further calls, sends the queued ones and closes the connections. Takes at most `closeTimeout`, plus a second if a promise
   * of `onFailure` is pending. Every call returns the same promise. Handle its rejection: an unhandled one ends the process.
   * @throws AnalyticsError `not_sent` if calls could not be sent; `calls` is their number, and `onFailure` has received each
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#sender.endRoom()
    const before = this.#sender.failed.calls
    let limit = setTimeout(() => {
      this.#sender.giveUp()
      limit = setTimeout(() => this.#sender.stopWaitingForReports(), GRACE_MS)
    }, this.#settings.closeTimeout)
    await this.#sender.flush()
    clearTimeout(limit)
    whenTerminated.remove(this.#onSigterm)
    this.#closeConnections()
    const { lastError: cause } = this.#sender.failed
    const calls = this.#sender.failed.calls - before
    if (calls > 0)
      throw fault('not_sent', `${callsOf(calls)} could not be sent. ${cause?.message ?? ''}`, {
        calls,
        cause,
      })
  }

  #call(type: CallType, call: unknown): void {
    this.#refuseWhenClosed()
    this.#sender.add(encode(type, call, { messageId: newId(), timestamp: timestamp() }))
  }

  #refuseWhenClosed(): void {
    if (this.#closing) throw fault('closed', 'The client is closed and accepts no more calls.')
  }
}
