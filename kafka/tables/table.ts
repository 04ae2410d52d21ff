import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection } from '../client.ts'
import { IDLE_WAIT_MS } from '../patches/consumer/fetch-wait.ts'
import type { OutRecord } from '../produce/produce.ts'
import type { BatchFault } from '../protocol/decode-batches.ts'
import type { PartitionOffset } from '../topic-partition.ts'
import { Follower } from './follower.ts'

export type Table = {
  /** Resolves when everything in the topic at the start has been read. */
  loaded: Promise<void>
  isLoaded(): boolean
  /** Whether it is at most two seconds behind. False while it is not in its group. */
  isFresh(): boolean
  get(key: string): Buffer | undefined
  entries(): IterableIterator<[string, Buffer]>
  /**
   * While `work` runs, shows records as if they were read. It is synchronous, so nothing else sees them. `onChange` and
   * `onRemoved` are called for them and when they are undone.
   */
  supposing<T>(work: (suppose: (records: readonly OutRecord[]) => void) => T): T
  /** Resolves when everything in the topic now has been read; rejects after `timeoutMs`. */
  caughtUp(timeoutMs?: number): Promise<void>
  /** Like `caughtUp`, but only up to this offset. */
  reached(position: PartitionOffset, timeoutMs?: number): Promise<void>
  /** Called for each record, even if later ones replace it. Holds one listener. */
  onRead(listener: OnRead): void
  close(): Promise<void>
}

type OnRead = (position: PartitionOffset, value: Buffer | null) => void

export type TableOptions = {
  connection: Connection
  topic: string
  /** Which keys to store; all by default. */
  matches?: (key: string) => boolean
  /** Called in order; `undefined`: removed. Must not throw. */
  onChange?: (key: string, value: Buffer | undefined) => void
  /** Called before `onChange`, with the removed value. Must not throw. */
  onRemoved?: (key: string, last: Buffer) => void
  onSkipped?: (fault: BatchFault) => void
  onFatal: (error: Error) => void
}

const LOAD_MS = 60_000
/** `IDLE_WAIT_MS`, plus time for slow brokers and pauses of this process. */
const FRESH_MS = 1_750

/** Follows a compacted topic of one partition from its beginning. */
export async function openTable(options: TableOptions): Promise<Table> {
  const table = new CompactedTable(options)
  await table.run()
  let isLoaded = false
  return {
    loaded: table.caughtUp(LOAD_MS).then(() => {
      isLoaded = true
    }),
    isLoaded: () => isLoaded,
    isFresh: () => table.isFresh(),
    get: (key) => table.values.get(key),
    entries: () => table.values.entries(),
    supposing: (work) => table.supposing(work),
    caughtUp: (timeoutMs) => table.caughtUp(timeoutMs),
    reached: (position, timeoutMs) => table.reached(position, timeoutMs),
    onRead(listener) {
      table.onRead = listener
    },
    close: () => table.close(),
  }
}

class CompactedTable {
  readonly values = new Map<string, Buffer>()
  onRead: OnRead = () => {}
  readonly #options: TableOptions
  readonly #follower: Follower
  /** Keys that were not read again since a fault of the log. */
  #unconfirmed = new Set<string>()
  #isBehind = true
  /** Each join or fault starts a new one and ends the one before. */
  #catchUps = 0
  #isClosed = false

  constructor(options: TableOptions) {
    this.#options = options
    this.#follower = new Follower({
      connection: options.connection,
      kind: 'table',
      topics: [options.topic],
      // the shortest session allowed: after an outage, the table may wait for its old one to end
      config: { maxWaitTimeInMs: IDLE_WAIT_MS, sessionTimeout: 6_000, heartbeatInterval: 2_000 },
      onRecord: ({ key, value }, position) => {
        if (key) this.#apply(key.toString(), value)
        this.onRead(position, value)
      },
      onFault: () => {
        this.#unconfirmed = new Set(this.values.keys())
        this.#startCatchUp()
      },
      onJoined: () => this.#startCatchUp(),
      onSkipped: options.onSkipped,
      onFatal: options.onFatal,
    })
  }

  async run(): Promise<void> {
    await this.#follower.connect()
    await this.#follower.run()
  }

  isFresh(): boolean {
    return !this.#isBehind && performance.now() - this.#follower.fetchedAt < FRESH_MS
  }

  #apply(key: string, value: Buffer | null): void {
    const { matches, onChange, onRemoved } = this.#options
    if (matches?.(key) === false) return
    this.#unconfirmed.delete(key)
    const last = this.values.get(key)
    if (value === null && last) onRemoved?.(key, last)
    // a slice would keep its whole fetch in memory
    if (value === null) this.values.delete(key)
    else this.values.set(key, Buffer.from(value))
    onChange?.(key, this.values.get(key))
  }

  supposing<T>(work: (suppose: (records: readonly OutRecord[]) => void) => T): T {
    const before: [string, Buffer | undefined][] = []
    try {
      return work((records) => {
        for (const { key, value } of records) {
          before.unshift([String(key), this.values.get(String(key))])
          this.#apply(String(key), value === null ? null : Buffer.from(value))
        }
      })
    } finally {
      for (const [key, value] of before) this.#apply(key, value ?? null)
    }
  }

  #startCatchUp(): void {
    this.#isBehind = true
    void this.#catchUp(++this.#catchUps)
  }

  async #catchUp(run: number): Promise<void> {
    const { connection, topic } = this.#options
    const since = performance.now()
    while (this.#isBehind && run === this.#catchUps && !this.#isClosed) {
      try {
        await this.caughtUp()
        if (run !== this.#catchUps) return
        this.#removeUnconfirmed()
        this.#isBehind = false
      } catch (err) {
        const text = 'a table is behind its topic'
        if (!this.#isClosed)
          connection.failures.add({ kind: `table ${topic}`, text, err, fields: { topic }, since })
      }
    }
  }

  /**
   * Removes what the log has lost, unless the log is empty: then the topic was recreated, and an operator needs time to
   * restore it.
   */
  #removeUnconfirmed(): void {
    if (this.#unconfirmed.size === this.values.size) return
    for (const key of this.#unconfirmed) this.#apply(key, null)
    this.#unconfirmed.clear()
  }

  async caughtUp(timeoutMs?: number): Promise<void> {
    const bounds = await this.#follower.firstBounds(this.#options.topic)
    for (const [partition, { high }] of bounds) await this.reached({ partition, offset: high - 1 }, timeoutMs)
  }

  async reached({ partition, offset }: PartitionOffset, timeoutMs = 30_000): Promise<void> {
    const { topic } = this.#options
    const deadline = performance.now() + timeoutMs
    while ((this.#follower.position(topic, partition) ?? 0) <= offset) {
      if (performance.now() > deadline)
        throw new Error(`table ${topic} has not caught up within ${timeoutMs} ms`)
      await sleep(2)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#follower.close()
  }
}
