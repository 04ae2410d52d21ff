import type { Offsets } from '../../kafka/offsets.ts'
import type { Point } from './curve.ts'
import type { Reading } from './readings.ts'

/** Ten seconds ago, twice that, and so on up to a week: of what was there before this process, the age is known to a factor of two. */
const AGO_MS = Array.from({ length: 17 }, (_, index) => 10_000 * 2 ** index).reverse()

/**
 * How a topic's partitions have grown (of a rung: become due) before this process looked at them. Kafka finds offsets by time in
 * its index, which costs it little.
 * @param now ms since 1970.
 * @returns by partition, in the order of time.
 */
export async function readPast(
  offsets: Pick<Offsets, 'at'>,
  { topic, delayMs }: Pick<Reading, 'topic' | 'delayMs'>,
  now: number,
): Promise<Map<number, Point[]>> {
  const found: (Point & { partition: number })[] = []
  // one after the other: this is not urgent
  for (const ago of AGO_MS) {
    const at = now - ago
    for (const place of await offsets.at(topic, at - delayMs)) found.push({ ...place, at })
  }
  return Map.groupBy(found, ({ partition }) => partition)
}
