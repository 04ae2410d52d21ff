import type { Producer } from '../../kafka/produce.ts'
import { SEEN } from '../../schemas/topics.ts'
import { MAX_ENTRIES, pack } from './packing.ts'
import type { Entry } from './window.ts'

/** So at most ten records a second and partition, unless there is enough to fill more. */
const FLUSH_MS = 100

/** Writes what one partition's window admits to the partition of the same number of `router.seen`. */
export type SeenWriter = {
  /**
   * Resolves when the entry is acknowledged, or nobody knows, at the end of the process. Never rejects. What the broker
   * refuses for good is given up: that costs a duplicate, not an event.
   */
  write(entry: Entry): Promise<Written>
}

export type Written = 'acked' | 'unknown'

type Batch = { entries: Entry[]; outcome: Promise<Written>; flush(): void }

export function seenWriter(producer: Pick<Producer, 'produce'>, partition: number): SeenWriter {
  let open: Batch | undefined

  function begin(): Batch {
    const { promise, resolve } = Promise.withResolvers<Written>()
    const entries: Entry[] = []
    function flush(): void {
      open = undefined
      clearTimeout(timer)
      const record = { topic: SEEN, partition, key: String(partition), value: pack(entries) }
      resolve(producer.produce([record]).then((outcome) => (outcome === 'unknown' ? outcome : 'acked')))
    }
    const timer = setTimeout(flush, FLUSH_MS)
    return { entries, outcome: promise, flush }
  }

  return {
    write(entry) {
      open ??= begin()
      const { entries, outcome, flush } = open
      if (entries.push(entry) === MAX_ENTRIES) flush()
      return outcome
    },
  }
}
