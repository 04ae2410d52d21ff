/** `of`: the bytes of an item. One with more than `most` gets a batch of its own. */
type Bytes<T> = { most: number; of: (item: T) => number }

/** In order. Each has at most `most` items, and bytes. */
export function* batchesOf<T>(
  items: Iterable<T>,
  most: number,
  bytes: Bytes<T> = { most: 0, of: () => 0 },
): Generator<T[]> {
  let batch: T[] = []
  let size = 0
  for (const item of items) {
    const itsSize = bytes.of(item)
    if (batch.length === most || (batch.length > 0 && size + itsSize > bytes.most)) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(item)
    size += itsSize
  }
  if (batch.length > 0) yield batch
}
