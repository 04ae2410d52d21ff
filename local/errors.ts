import { statfs } from 'node:fs/promises'
import { CodedError } from '../process/coded-error.ts'

export type LocalErrorCode =
  | 'java_missing'
  | 'maven_missing'
  | 'download_failed'
  | 'checksum_wrong'
  | 'cache_not_writable'
  | 'disk_full'
  | 'port_taken'
  | 'already_running'
  | 'keys_damaged'
  | 'data_damaged'
  | 'kafka_start_failed'
  | 'registry_start_failed'
  | 'setting_invalid'

/** A fault that the user of `npm start` can fix: printed without a stack; exit code 2. */
export class LocalError extends CodedError<LocalErrorCode> {
  override name = 'LocalError'
}

const MB = 1024 ** 2
/** Kafka writes some MB at its start. If it cannot, its error does not say why. */
const MIN_FREE = 64 * MB

/** @throws LocalError disk_full */
export async function requireFreeSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free >= MIN_FREE) return
  const mb = Math.floor(free / MB)
  throw diskFull(folder, `has ${mb} MB free, and Kafka needs ${MIN_FREE / MB} MB to start`)
}

/** Returns any other error as it is. */
export function asDiskFull(error: unknown, folder: string): unknown {
  const isFull =
    error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
  return isFull ? diskFull(folder, 'is full', error) : error
}

function diskFull(folder: string, state: string, cause?: unknown): LocalError {
  const message = `The disk of ${folder} ${state}. Accepted events are safe on it.
Free some space, or move the folder to a larger disk and set SLUICE_DATA to its new path (ops/runbook.md, SluiceStorageFull).`
  return new LocalError('disk_full', message, { cause })
}
