import type { Connection } from '../../kafka/client.ts'
import { openReader, type Reader } from '../../kafka/reader.ts'

export type Readers = {
  /** One for each topic, opened when it is first asked for. */
  readerOf: (topic: string) => Promise<Reader>
  close(): Promise<void>
}

/** Audiences and traits are not everybody's: who has none of them pays for no consumer. */
export function openReaders(connection: Connection, onFatal: (error: Error) => void): Readers {
  const open = new Map<string, Promise<Reader>>()
  return {
    readerOf(topic) {
      const reader = open.get(topic) ?? openReader({ connection, topic, onFatal })
      open.set(topic, reader)
      // what failed is tried anew
      reader.catch(() => open.delete(topic))
      return reader
    },
    async close() {
      await Promise.all(
        [...open.values()].map((reader) =>
          reader.then(
            (it) => it.close(),
            () => undefined,
          ),
        ),
      )
    },
  }
}
