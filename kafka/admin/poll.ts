import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../../process/timeout.ts'
import { CLOSE_MS } from '../client.ts'

export type Poll = Closable

type Closable = { close(): Promise<void> }

export type PollOptions<T extends Closable> = {
  open: () => Promise<T>
  read: (reader: T) => Promise<void>
  onFailed: (error: unknown) => void
  /** From start to start; a longer read delays the next. */
  everyMs: number
}

/** One read at a time. */
export function poll<T extends Closable>({ open, read, onFailed, everyMs }: PollOptions<T>): Poll {
  const closing = new AbortController()
  let reader: T | undefined

  async function readOnce(): Promise<void> {
    reader ??= await open()
    await read(reader)
  }

  /** The next read gets a new client: this one may know old leaders or topics. */
  async function failed(error: unknown): Promise<void> {
    if (!closing.signal.aborted) onFailed(error)
    await drop()
  }

  async function drop(): Promise<void> {
    const old = reader
    reader = undefined
    if (old) await within(CLOSE_MS, old.close())
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      const begun = performance.now()
      await readOnce().catch(failed)
      const left = everyMs - (performance.now() - begun)
      await sleep(Math.max(0, left), undefined, closing).catch(() => undefined)
    }
  }

  const running = run()
  return {
    async close() {
      closing.abort()
      await within(CLOSE_MS, running)
      await drop()
    },
  }
}
