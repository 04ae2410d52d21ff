import { EventEmitter } from 'node:events'
import { inspect } from 'node:util'
import type { Alias, Callback, CallType, Group, Identify, Page, Screen, Track } from './calls.ts'
import { debug, isDebug, masked, withoutQuery } from './debug.ts'
import { deliverer } from './deliver.ts'
import { encode } from './encode.ts'
import { callsOf, fault } from './errors.ts'
import { kindOf } from './fields.ts'
import { LIBRARY } from './library.ts'
import type { Options } from './options.ts'
import { poster } from './post.ts'
import { whenTerminated } from './process-end.ts'
import { Queue } from './queue.ts'
import { type ErrorListener, reporter } from './report.ts'
import { Sender } from './sender.ts'
import { readSettings, type Settings } from './settings.ts'
import { isoClock } from './timestamp.ts'
import { uuids } from './uuid.ts'

/** After `closeTimeout`, for the caller's functions. */
const GRACE_MS = 1_000

/** Shared by all clients, so that ids ascend within the process. */
const newId = uuids(Date.now)
const timestamp = isoClock(Date.now)

/**
 * Queues calls in memory and sends them in batches in the background. A process needs only one client.
 *
 * The six methods serialize and queue a call and return without a request. They throw an AnalyticsError if the call is
 * invalid or larger than 32,768 bytes, the queue is full (`queue_full`) or the client is closed (`closed`). A queued
 * call is delivered, or passed to `onFailure` and the listeners of 'error'. Its callback gets the outcome.
 */
export class Analytics {
  readonly #sender: Sender
  readonly #events = new EventEmitter()
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
      report: reporter({
        onFailure: settings.onFailure,
        // only `on` and `once` add listeners
        listeners: () => this.#events.rawListeners('error') as ErrorListener[],
      }),
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
  identify(call: Identify, callback?: Callback | null): void {
    this.#call('identify', call, callback)
  }

  /** Records an action of a user. */
  track(call: Track, callback?: Callback | null): void {
    this.#call('track', call, callback)
  }

  /** Records a page view. */
  page(call: Page, callback?: Callback | null): void {
    this.#call('page', call, callback)
  }

  /** Records a view of an app's screen. */
  screen(call: Screen, callback?: Callback | null): void {
    this.#call('screen', call, callback)
  }

  /** Adds a user to a group. */
  group(call: Group, callback?: Callback | null): void {
    this.#call('group', call, callback)
  }

  /** Merges two ids of one user. */
  alias(call: Alias, callback?: Callback | null): void {
    this.#call('alias', call, callback)
  }

  /**
   * Adds a listener for queued calls that could not be delivered. Returns the client.
   * @throws AnalyticsError `unknown_event`, `callback_not_function`
   */
  on(event: 'error', listener: ErrorListener): this {
    this.#events.on(...checked(event, listener))
    return this
  }

  /** Like `on`, for the next failure only. */
  once(event: 'error', listener: ErrorListener): this {
    this.#events.once(...checked(event, listener))
    return this
  }

  /** Removes a listener. */
  off(event: 'error', listener: ErrorListener): this {
    this.#events.off(...checked(event, listener))
    return this
  }

  /**
   * Resolves when the queue has room for a call of any size. Await it right before each call if calls come faster than
   * they are sent. Waiters get room in order and keep it until the end of that turn of the event loop. Rejects with
   * `closed`.
   */
  async room(): Promise<void> {
    this.#refuseWhenClosed()
    await this.#sender.room()
    this.#refuseWhenClosed()
  }

  /**
   * Sends all queued calls now. Resolves when all are settled, and callbacks, listeners and `onFailure` have finished.
   * Never rejects.
   */
  flush(): Promise<void> {
    return this.#sender.flush()
  }

  /**
   * Rejects further calls, sends the queued ones and closes the connections. Takes at most `closeTimeout`, plus a
   * second for callbacks, listeners and `onFailure`. Repeated calls return the same promise. An unhandled rejection
   * ends the process.
   * @throws AnalyticsError `not_sent`; `calls` is the number of calls that could not be sent
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

  #call(type: CallType, call: unknown, callback: Callback | null | undefined): void {
    this.#refuseWhenClosed()
    if (callback !== undefined && callback !== null) checkFunction(`The callback of ${type}`, callback)
    const encoded = encode(type, call, { messageId: newId(), timestamp: timestamp() })
    const queued = callback ? { ...encoded, callback } : encoded
    if (this.#settings.disable) this.#sender.skip(queued)
    else this.#sender.add(queued)
  }

  #refuseWhenClosed(): void {
    if (this.#closing) throw fault('closed', 'The client is closed and accepts no more calls.')
  }
}

function checked(event: 'error', listener: ErrorListener): ['error', ErrorListener] {
  if (event !== 'error') throw fault('unknown_event', `The only event is 'error', not ${inspect(event)}.`)
  checkFunction("A listener of 'error'", listener)
  return [event, listener]
}

function checkFunction(what: string, value: unknown): void {
  if (typeof value !== 'function')
    throw fault('callback_not_function', `${what} must be a function, not ${kindOf(value)}.`)
}
