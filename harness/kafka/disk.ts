import { randomUUID } from 'node:crypto'
import { copyFile, cp, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { batchesDecoder } from '../../kafka/protocol/decode-batches.ts'

/** `topic`: as named on the broker. `to`: exclusive. */
export type OffsetRange = { topic: string; partition: number; from: number; to: number }

/** Records that a disk has lost. `values`: by offset. `isReplaced`: other records have their offsets. */
export type Gone = OffsetRange & { values: ReadonlyMap<number, Buffer>; isReplaced?: boolean }

/**
 * Copies these topics' logs (named as on the broker), so that a power cut can lose what was not synced.
 * @returns a function that restores them while the broker is down, and returns the lost records
 */
export async function imageOf(directory: string, topics: readonly string[]): Promise<() => Promise<Gone[]>> {
  const data = join(directory, 'data')
  const image = join(directory, `image-${randomUUID()}`)
  const replaced = join(directory, `replaced-${randomUUID()}`)
  const names = await foldersOf(data, topics)
  for (const name of names) await copyLive(join(data, name), join(image, name))
  return async () => {
    await mkdir(replaced)
    for (const name of names) {
      await rename(join(data, name), join(replaced, name))
      await cp(join(image, name), join(data, name), { recursive: true })
    }
    const gone = await goneBetween(await endsIn(replaced, topics), await endsIn(data, topics))
    for (const folder of [image, replaced]) await rm(folder, { recursive: true, force: true })
    return gone
  }
}

/** The broker runs, and may rename or delete files. */
async function copyLive(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from))
    await copyFile(join(from, name), join(to, name)).catch((error) => {
      if (error.code !== 'ENOENT') throw error
    })
}

type End = { topic: string; partition: number; folder: string; end: number }

/** The end of each partition, on the disk of a stopped broker. */
export const endsOf = (directory: string, topics: readonly string[]): Promise<End[]> =>
  endsIn(join(directory, 'data'), topics)

async function endsIn(data: string, topics: readonly string[]): Promise<End[]> {
  const names = await foldersOf(data, topics)
  return Promise.all(
    names.map(async (name) => {
      const dash = name.lastIndexOf('-')
      const folder = join(data, name)
      const at = { topic: name.slice(0, dash), partition: Number(name.slice(dash + 1)) }
      return { ...at, folder, end: await endOf(folder) }
    }),
  )
}

/** After an unclean election, two logs may differ from some offset on. */
export async function goneBetween(before: readonly End[], after: readonly End[]): Promise<Gone[]> {
  const gone: Gone[] = []
  for (const { topic, partition, folder, end: to } of before) {
    const other = after.find((each) => each.topic === topic && each.partition === partition)
    const end = Math.min(other?.end ?? 0, to)
    const from = other ? Math.min(await firstDifference(folder, other.folder), end) : 0
    if (from === to) continue
    const lost = [...(await valuesFrom(folder, from))]
    const replaced = new Map(lost.filter(([offset]) => offset < end))
    const values = new Map(lost.filter(([offset]) => offset >= end))
    if (from < end) gone.push({ topic, partition, from, to: end, values: replaced, isReplaced: true })
    if (end < to) gone.push({ topic, partition, from: end, to, values })
  }
  return gone
}

/** Compares only with the last segment of `other`. @returns the first offset of a batch that `other` does not have */
async function firstDifference(folder: string, other: string): Promise<number> {
  const last = (await segmentsIn(other)).at(-1)
  if (!last) return 0
  const known = new Map((await readSegment(other, last)).batches.map(({ from, bytes }) => [from, bytes]))
  const start = Number.parseInt(last, 10)
  for (const name of await segmentsFrom(folder, start))
    for (const { from, bytes } of (await readSegment(folder, name)).batches)
      if (from >= start && !known.get(from)?.equals(bytes)) return from
  return Number.POSITIVE_INFINITY
}

async function valuesFrom(folder: string, from: number): Promise<Map<number, Buffer>> {
  const segments = await Promise.all(
    (await segmentsFrom(folder, from)).map((name) => readSegment(folder, name)),
  )
  const batches = segments.flatMap((segment) => segment.batches.filter(({ to }) => to > from))
  const bytes = batches.map((batch) => batch.bytes)
  const size = Buffer.alloc(4)
  size.writeInt32BE(bytes.reduce((sum, { length }) => sum + length, 0))
  const decode = batchesDecoder(() => Promise.reject(new Error('these logs have batches of format 2 only')))
  const records = await decode({ buffer: Buffer.concat([size, ...bytes]), offset: 0 })
  return new Map(
    records.flatMap(({ offset, value }) =>
      Number(offset) < from || !value ? [] : [[Number(offset), value]],
    ),
  )
}

async function foldersOf(data: string, topics: readonly string[]): Promise<string[]> {
  return (await readdir(data)).filter((name) => topics.includes(name.replace(/-\d+$/, '')))
}

/** Named by their first offsets, in order. */
const segmentsIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.endsWith('.log')).sort()

/** Those with records from this offset on. */
async function segmentsFrom(folder: string, from: number): Promise<string[]> {
  const names = await segmentsIn(folder)
  const first = names.findLastIndex((name) => Number.parseInt(name, 10) <= from)
  return names.slice(Math.max(0, first))
}

type Segment = { end: number; batches: readonly { from: number; to: number; bytes: Buffer }[] }

async function endOf(folder: string): Promise<number> {
  const last = (await segmentsIn(folder)).at(-1)
  return last ? (await readSegment(folder, last)).end : 0
}

/** Whole batches only. `to`: the offset after the last record. */
async function readSegment(folder: string, name: string): Promise<Segment> {
  const log = await readFile(join(folder, name))
  const batches = []
  let end = Number.parseInt(name, 10)
  for (let at = 0; at + HEADER_BYTES <= log.length; ) {
    const next = at + 12 + log.readInt32BE(at + 8)
    if (next > log.length) break
    const from = Number(log.readBigInt64BE(at))
    end = from + log.readInt32BE(at + 23) + 1
    batches.push({ from, to: end, bytes: log.subarray(at, next) })
    at = next
  }
  return { end, batches }
}
/** Of a record batch (https://kafka.apache.org/documentation/#recordbatch). */
const HEADER_BYTES = 61
