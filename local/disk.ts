import { statfs } from 'node:fs/promises'
import { LocalFault } from './fault.ts'

const MB = 1024 ** 2
/** Kafka writes some MB when it starts, and ends with an error of its own when it cannot. */
const LEAST = 64 * MB

/** @throws LocalFault disk_full, before Kafka fails in words of its own. */
export async function requireRoom(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free < LEAST)
    throw diskFull(folder, `has ${Math.floor(free / MB)} MB free, and Kafka needs ${LEAST / MB} MB to start`)
}

/** What a write says of a disk on which there is no room at all. */
export function asDiskFull(error: unknown, folder: string): unknown {
  const isFull =
    error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return isFull ? diskFull(folder, 'is full', error) : error
}

const diskFull = (folder: string, says: string, cause?: unknown) =>
  new LocalFault(
    'disk_full',
    `The disk of ${folder} ${says}. What Sluice has accepted is safe there.\n` +
      'Free room on that disk, or move the folder to a larger one and name that with SLUICE_DATA (ops/runbook.md, SluiceStorageFull).',
    { cause },
  )
