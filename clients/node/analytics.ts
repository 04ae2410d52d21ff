import type { Alias, CallType, Group, Identify, Page, Screen, Track } from './calls.ts'
import { isoClock } from './clock.ts'
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
import { uuids } from './uuid.ts'

/** More than `closeTimeout` is there for onFailure to take what was not sent in it. */
const GRACE_MS = 1_000

/** Shared by all clients of the process: their ids ascend together. */
const newId = uuids(Date.now)
const timestamp = isoClock(Date.now)

/**
 * Queues calls in memory and sends them in batches, in the background. One client is enough for a process.
 *
 * Each of the six methods checks its call, takes it and returns; it makes no request. It throws an AnalyticsError at once when the call
 * is not what the service takes, has over 32,768 bytes as JSON, finds the queue full (`queue_full`) or the client closed (`closed`).
 * What was taken is sent, or handed to `onFailure`. The call is printed at once: it may be changed afterwards.
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

  /** Ties a user to traits. */
  identify(call: Identify): void {
    this.#call('identify', call)
  }

  /** Records what a user does. */
  track(call: Track): void {
    this.#call('track', call)
  }

  /** Records that a page is viewed. */
  page(call: Page): void {
    this.#call('page', call)
  }

  /** Records that a screen of an app is viewed. */
  screen(call: Screen): void {
    this.#call('screen', call)
  }

  /** Associates a user with a group. */
  group(call: Group): void {
    this.#call('group', call)
  }

  /** Associates one id with another. */
  alias(call: Alias): void {
    this.#call('alias', call)
  }

  /**
   * Resolves when a call of any size would be taken, at once if there is room. For programs that make calls faster than they can be
   * sent: `await analytics.room()` right before each. However many wait, no more go on than there is room for, and in their order; each
   * has its room until the end of that turn of the event loop. Rejects with `closed` when the client is closed.
   */
  async room(): Promise<void> {
    this.#refuseWhenClosed()
    await this.#sender.room()
    this.#refuseWhenClosed()
  }

  /**
   * Sends what waits without waiting for more. Resolves when all of it is settled: sent, or taken by `onFailure`, whose promise is
   * waited for. Never rejects.
   */
  flush(): Promise<void> {
    return this.#sender.flush()
  }

  /**
   * Takes no more calls, sends what there is, and lets go of the connections; within `closeTimeout`, and a second more where a
   * promise of `onFailure` takes it. Called again, it returns the same promise. Await it, or catch what it rejects with: Node ends a
   * process by a rejection that nobody handles.
   * @throws AnalyticsError `not_sent`, whose `calls` is how many of them could not be sent. `onFailure` has got each.
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
      limit = setTimeout(() => this.#sender.hurry(), GRACE_MS)
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
    if (this.#closing) throw fault('closed', 'The client is closed and takes no more calls.')
  }
}
