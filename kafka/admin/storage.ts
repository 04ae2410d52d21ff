import type { Connection } from '../client.ts'
import { type LogDirs, openLogDirs } from '../patches/log-dirs.ts'
import { poll } from './poll.ts'

/** In bytes. `reserve`: what must stay free on a broker's disk, see `reserveOf`. `limit`: what our topics may take on a broker. */
export type StorageLimits = { reserve: number | undefined; limit: number | undefined }

/**
 * Room for more records, in bytes: on the broker's `disk` that has the least, or below the `limit`. `reserve`: what is to stay
 * free of it, for what was taken already and is still to be delivered.
 */
export type Room = { of: 'disk' | 'limit'; free: number; reserve: number }

/** What Kafka has room for, as its brokers say. */
export type Storage = {
  /** Empty where they do not say. */
  rooms(): readonly Room[]
  /** The room that is used up, so that nothing more should be taken; undefined while there is enough. */
  shortage(): Room | undefined
  close(): Promise<void>
}

const GB = 1024 ** 3
const MOST_RESERVE = 2 * GB
/** What is used up counts as free again when there is so much more room than its reserve: else it would change with each look. */
const AGAIN = 1.25

/** A tenth, and at most 2 GB, unless told. */
const reserveOf = (bytes: number, told?: number) => told ?? Math.min(bytes / 10, MOST_RESERVE)

/** @param prefix of our topics: on a shared cluster only they count against the limit. */
export function roomsOf(dirs: LogDirs, { reserve, limit }: StorageLimits, prefix: string): Room[] {
  const disks = dirs
    .flat()
    .map(({ total, free }): Room => ({ of: 'disk', free, reserve: reserveOf(total, reserve) }))
  const tightest = disks
    .toSorted((one, other) => one.free - one.reserve - (other.free - other.reserve))
    .slice(0, 1)
  if (limit === undefined) return tightest
  const used = Math.max(0, ...dirs.map((broker) => bytesOf(broker, prefix)))
  return [...tightest, { of: 'limit', free: Math.max(0, limit - used), reserve: limit / 10 }]
}

function bytesOf(broker: LogDirs[number], prefix: string): number {
  const ours = broker.flatMap(({ topics }) => [...topics].filter(([name]) => name.startsWith(prefix)))
  return ours.reduce((sum, [, bytes]) => sum + bytes, 0)
}

/** @param before the shortage that there was. */
export function shortageOf(rooms: readonly Room[], before: Room | undefined): Room | undefined {
  return rooms.find(({ of, free, reserve }) => free < reserve * (before?.of === of ? AGAIN : 1))
}

export type StorageOptions = {
  connection: Connection
  limits: StorageLimits
  /** Told when room is used up, and when there is room again. */
  onChange?: (shortage: Room | undefined) => void
  everyMs?: number
}

/** At full speed half a GB comes in meanwhile. */
const EVERY_MS = 2_000

/** Looks at the brokers' disks again and again. While Kafka does not answer it is as it was. */
export function watchStorage({ connection, limits, onChange, everyMs = EVERY_MS }: StorageOptions): Storage {
  let rooms: readonly Room[] = []
  let shortage: Room | undefined
  const { close } = poll({
    open: () => openLogDirs(connection),
    async look(reader) {
      rooms = roomsOf((await reader.read()) ?? [], limits, connection.named(''))
      const before = shortage
      shortage = shortageOf(rooms, before)
      if (before?.of !== shortage?.of) onChange?.(shortage)
    },
    onFailed: (err) => connection.log.debug({ err }, 'the disks of Kafka cannot be looked at'),
    everyMs,
  })
  return { rooms: () => rooms, shortage: () => shortage, close }
}
