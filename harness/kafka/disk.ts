import { randomUUID } from 'node:crypto'
import { cp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Offsets of one partition, `to` exclusive. `topic`: as named on the broker. */
export type OffsetRange = { topic: string; partition: number; from: number; to: number }

/**
 * Copies the logs of these topics, so that a later power cut can lose what was not synced.
 * @param directory of the broker. `topics`: as named on the broker.
 * @returns a function that restores the copies while the broker is down, and returns the lost records.
 */
export async function imageOf(
  directory: string,
  topics: readonly string[],
): Promise<() => Promise<OffsetRange[]>> {
  const data = join(directory, 'data')
  const image = join(directory, `image-${randomUUID()}`)
  const names = await foldersOf(data, topics)
  for (const name of names) await cp(join(data, name), join(image, name), { recursive: true })
  return async () => {
    const before = await endsOf(directory, topics)
    for (const name of names) {
      await rm(join(data, name), { recursive: true })
      await cp(join(image, name), join(data, name), { recursive: true })
    }
    await rm(image, { recursive: true, force: true })
    return goneBetween(before, await endsOf(directory, topics))
  }
}

export type End = { topic: string; partition: number; end: number }

/** @returns the end of each partition of these topics on the disk of a stopped broker. */
export async function endsOf(directory: string, topics: readonly string[]): Promise<End[]> {
  const data = join(directory, 'data')
  const names = await foldersOf(data, topics)
  return Promise.all(
    names.map(async (name) => {
      const dash = name.lastIndexOf('-')
      const end = await endOf(join(data, name))
      return { topic: name.slice(0, dash), partition: Number(name.slice(dash + 1)), end }
    }),
  )
}

/** @returns the records that `after` lacks. */
export function goneBetween(before: readonly End[], after: readonly End[]): OffsetRange[] {
  return before.flatMap(({ topic, partition, end: to }) => {
    const from = after.find((each) => each.topic === topic && each.partition === partition)?.end ?? 0
    return from < to ? [{ topic, partition, from, to }] : []
  })
}

async function foldersOf(data: string, topics: readonly string[]): Promise<string[]> {
  return (await readdir(data)).filter((name) => topics.includes(name.replace(/-\d+$/, '')))
}

/** @returns the offset after the last whole batch in a partition's folder. */
async function endOf(folder: string): Promise<number> {
  const last = (await readdir(folder))
    .filter((name) => name.endsWith('.log'))
    .sort()
    .at(-1)
  if (!last) return 0
  const bytes = await readFile(join(folder, last))
  let end = Number.parseInt(last, 10) // a segment is named by its first offset
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const next = at + 12 + bytes.readInt32BE(at + 8)
    if (next > bytes.length) break
    end = Number(bytes.readBigInt64BE(at)) + bytes.readInt32BE(at + 23) + 1
    at = next
  }
  return end
}
/** Of a record batch (https://kafka.apache.org/documentation/#recordbatch). */
const HEADER_BYTES = 61
