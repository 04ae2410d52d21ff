import type { Produced } from '../../kafka/pending.ts'
import type { Producer } from '../../kafka/produce.ts'
import { SEEN } from '../../schemas/topics.ts'
import { MAX_ENTRIES, pack } from './packing.ts'
import type { Entry } from './window.ts'

/** So at most ten records a second and partition, unless there is enough to fill more. */
const FLUSH_MS = 100

/** Writes what one partition's window admits to the partition of the same number of `router.seen`. */
export type SeenWriter = {
  /**
   * @returns what waits for the acknowledgement; to be called once the event's deliveries have theirs, so that an outage of
   * Kafka does not count. Never rejects. What is not written two seconds later, or refused, is not waited for, nor is what
   * follows it, until one is written again: that costs a duplicate, not an event.
   */
  write(entry: Entry): () => Promise<Written>
}

/** `unknown`: at the end of the process. */
export type Written = 'acked' | 'unwritten' | 'unknown'

const WAIT_MS = 2_000

export type SeenWriterParts = {
  /** For topic `router.seen` alone: one that takes no writes stops what is sent with it. */
  producer: Pick<Producer, 'produce'>
  /** So many ids were not written in time. */
  onUnwritten: (ids: number) => void
}

type Batch = { entries: Entry[]; written: () => Promise<Written>; flush(): void }

export function seenWriter({ producer, onUnwritten }: SeenWriterParts, partition: number): SeenWriter {
  let open: Batch | undefined
  let isLate = false

  function begin(): Batch {
    const { promise, resolve } = Promise.withResolvers<Produced>()
    const entries: Entry[] = []
    let waiting: Promise<Written> | undefined
    async function wait(): Promise<Written> {
      const outcome = await withLimit(promise, isLate ? 0 : WAIT_MS)
      if (outcome === 'late') isLate = true
      if (outcome === 'acked' || outcome === 'unknown') return outcome
      onUnwritten(entries.length)
      return 'unwritten'
    }
    function written(): Promise<Written> {
      waiting ??= wait()
      return waiting
    }
    function flush(): void {
      open = undefined
      clearTimeout(timer)
      const record = { topic: SEEN, partition, key: String(partition), value: pack(entries) }
      void producer.produce([record]).then((outcome) => {
        if (outcome === 'acked') isLate = false
        resolve(outcome)
      })
    }
    const timer = setTimeout(flush, FLUSH_MS)
    return { entries, written, flush }
  }

  return {
    write(entry) {
      open ??= begin()
      const { entries, written, flush } = open
      if (entries.push(entry) === MAX_ENTRIES) flush()
      return written
    },
  }
}

async function withLimit<T>(work: Promise<T>, limitMs: number): Promise<T | 'late'> {
  const { promise, resolve } = Promise.withResolvers<'late'>()
  const limit = setTimeout(resolve, limitMs, 'late')
  const outcome = await Promise.race([work, promise])
  clearTimeout(limit)
  return outcome
}
