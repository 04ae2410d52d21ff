import type { Logger } from '../../process/log.ts'
import type { Connection } from '../client.ts'
import { type LogDirs, openLogDirs } from '../patches/log-dirs.ts'
import { poll } from './poll.ts'

/** In bytes. `limit`: for all of Sluice's topics on one broker. */
export type StorageLimits = { reserve: number | undefined; limit: number | undefined }

/**
 * `free`: bytes on a broker's fullest disk, or below the limit. `reserve`: bytes that must stay free for undelivered
 * records.
 */
export type Room = { of: 'disk' | 'limit'; free: number; reserve: number }

export type Storage = {
  /** Empty when the brokers do not report it. */
  rooms(): readonly Room[]
  /** The room that has run out. Calls should then be refused. */
  shortage(): Room | undefined
  close(): Promise<void>
}

const GB = 1024 ** 3
const MAX_RESERVE = 2 * GB
/** Space is low below this multiple of the reserve (alert `SluiceStorageLow`). */
export const LOW_FACTOR = 3
const RECOVERY_FACTOR = 1.25

const reserveOf = (bytes: number, setting?: number) => setting ?? Math.min(bytes / 10, MAX_RESERVE)

/** @param prefix of the topics that count toward the limit. */
export function roomsOf(dirs: LogDirs, { reserve, limit }: StorageLimits, prefix: string): Room[] {
  const disks = dirs
    .flat()
    .map(({ total, free }): Room => ({ of: 'disk', free, reserve: reserveOf(total, reserve) }))
  const tightest = disks
    .toSorted((one, other) => one.free - one.reserve - (other.free - other.reserve))
    .slice(0, 1)
  // no broker has reported, so the used space is unknown
  if (limit === undefined || disks.length === 0) return tightest
  const used = Math.max(0, ...dirs.map((broker) => bytesOf(broker, prefix)))
  return [...tightest, { of: 'limit', free: Math.max(0, limit - used), reserve: limit / 10 }]
}

function bytesOf(broker: LogDirs[number], prefix: string): number {
  const ours = broker.flatMap(({ topics }) => [...topics].filter(([name]) => name.startsWith(prefix)))
  return ours.reduce((sum, [, bytes]) => sum + bytes, 0)
}

export function shortageOf(rooms: readonly Room[], before: Room | undefined): Room | undefined {
  return rooms.find(({ of, free, reserve }) => free < reserve * (before?.of === of ? RECOVERY_FACTOR : 1))
}

export const SHORTAGES = {
  disk: "Kafka's disk is almost full",
  limit: "Sluice's topics have almost reached STORAGE_LIMIT",
}

/** @param told what happens during a shortage and after it, as in `calls are refused`. */
export function logShortage(log: Pick<Logger, 'warn' | 'info'>, told: { during: string; after: string }) {
  return (shortage: Room | undefined): void => {
    if (!shortage) {
      log.info(`there is enough space again: ${told.after}`)
      return
    }
    const { of, free, reserve } = shortage
    log.warn({ free, reserve }, `${SHORTAGES[of]}: ${told.during} until there is space`)
  }
}

export type StorageOptions = {
  connection: Connection
  limits: StorageLimits
  onChange?: (shortage: Room | undefined) => void
}

/** Sluice can write half a GB in this time. */
const EVERY_MS = 2_000

/** While Kafka does not answer, the last result stays valid. */
export function watchStorage({ connection, limits, onChange }: StorageOptions): Storage {
  let rooms: readonly Room[] = []
  let shortage: Room | undefined
  const { close } = poll({
    open: () => openLogDirs(connection),
    async read(reader) {
      rooms = roomsOf((await reader.read()) ?? [], limits, connection.named(''))
      const before = shortage
      shortage = shortageOf(rooms, before)
      if (before?.of !== shortage?.of) onChange?.(shortage)
    },
    onFailed: (err) => connection.log.debug({ err }, "cannot read the state of Kafka's disks"),
    everyMs: EVERY_MS,
  })
  return { rooms: () => rooms, shortage: () => shortage, close }
}
