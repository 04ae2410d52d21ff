import type { Range } from '../../kafka/range.ts'
import type { Place } from '../newest/place.ts'

type Where = Pick<Place, 'partition' | 'offset'>

/** So many others are read with them: one fetch brings about as many, wanted or not. */
const NEAR = 50

/** What to read to get these records: of each partition its ranges, in order. */
export function rangesOf(places: readonly Where[]): Range[][] {
  const byPartition = Map.groupBy(places, ({ partition }) => partition)
  return [...byPartition].map(([partition, among]) => {
    const ranges: Range[] = []
    for (const { offset } of among.toSorted((a, b) => a.offset - b.offset)) {
      const last = ranges.at(-1)
      if (last && offset - last.to <= NEAR) last.to = offset + 1
      else ranges.push({ partition, from: offset, to: offset + 1 })
    }
    return ranges
  })
}
