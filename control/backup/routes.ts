import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import type { Logger } from '../../process/log.ts'
import { withTimeout } from '../../process/timeout.ts'
import type { Settings } from '../../settings/follow.ts'
import type { ConfigKeys } from '../../settings/seal.ts'
import { audit } from '../api/audit.ts'
import { takeStreams, textOf } from '../api/body-stream.ts'
import { CLIENT_WAIT_MS, createSemaphore } from '../api/concurrency.ts'
import { type ApiRequest, addPath, flag, operation } from '../api/operation.ts'
import { type ApiResponse, problem } from '../api/response.ts'
import type { Tasks } from '../tasks/task-table.ts'
import { type BackupFacts, backupLines, verifyBackup } from './backup-file.ts'
import { planRestore } from './plan-restore.ts'
import { refusalOf, reportOf, reportShape } from './report.ts'
import { contentsOf, type Restored, restore } from './restore.ts'

export type BackupRouteParts = {
  settings: Omit<BackupFacts, 'deletions'> & { table: Pick<Settings['table'], 'caughtUp'> }
  tasks: Pick<Tasks, 'deletions' | 'table'>
  writer: Pick<FencedWriter, 'write'>
  taskWriter: Pick<FencedWriter, 'write'>
  keys: ConfigKeys
  log: Logger
  /** Bytes. */
  maxBackup?: number
}

export function backupRoutes(api: FastifyInstance, parts: BackupRouteParts): void {
  const atOnce = createSemaphore(1)
  addPath(api, '/backup', {
    GET: operation({
      summary: 'Download a backup',
      description:
        'All settings with their secrets sealed, the list of suppressed users, and deletions. Only this system, or one with the same `CONFIG_KEY`, can restore it. Breaks off if it has more than 256 MB. See docs/guides/backup.md.',
      // it contains user ids
      access: 'admin',
      responses: { 200: { description: 'The backup.', body: z.string(), type: 'text/plain' } },
      handle: (request) => download(request, parts),
    }),
  })
  api.register(async (streamed) => {
    takeStreams(streamed)
    addPath(streamed, '/restore', {
      POST: operation({
        summary: 'Restore a backup',
        description:
          'Writes what the backup contains and the system lacks. Removes nothing. A repetition continues a restore that broke off.',
        query: queryShape,
        body: { required: true, types: { 'text/plain': z.string() } },
        responses: { 200: { description: 'What was written; in a dry run: would be.', body: reportShape } },
        errorCodes: [
          'backup_invalid',
          'backup_other_key',
          'backup_altered',
          'restore_conflict',
          'write_key_taken',
          'key_taken',
          'upload_broken',
          'invalid_encoding',
          'unsupported_encoding',
        ],
        // the backup is in memory
        handle: (request) => atOnce(() => restoreBackup(request, parts)),
      }),
    })
  })
}

const queryShape = z.strictObject({
  dryRun: flag('`true`: responds with what the restore would do, but writes nothing.'),
  force: flag(
    '`true`: also restores into a system that has other settings. Replaces those that differ, and keeps those that are not in the backup.',
  ),
})

const headers = { 'content-type': 'text/plain; charset=utf-8' }

/** HEAD gets only headers: Fastify would read the whole stream. */
async function download({ method, caller }: ApiRequest, parts: BackupRouteParts): Promise<ApiResponse> {
  if (method === 'HEAD') return { status: 200, headers }
  const facts = await forBackup(parts)
  if (!facts) return noBackup
  audit(parts.log, caller, { what: 'backup', outcome: 'downloaded' })
  const lines = backupLines(facts, parts.keys, new Date().toISOString())
  return { status: 200, headers, body: Readable.from(restorable(inPieces(lines), parts)) }
}

/** About a million suppressions. */
const MAX_BYTES = 256 * 1024 * 1024

/** Fails when the backup becomes too large to restore: a complete file would look usable. */
async function* restorable(
  pieces: AsyncIterable<string>,
  { maxBackup = MAX_BYTES, log }: Pick<BackupRouteParts, 'maxBackup' | 'log'>,
): AsyncGenerator<string> {
  let size = 0
  for await (const piece of pieces) {
    size += Buffer.byteLength(piece)
    if (size > maxBackup) {
      log.error({ maxBytes: maxBackup }, 'a backup was cut off: it is too large to be restored')
      throw new Error('the backup is too large')
    }
    yield piece
  }
}

const PIECE_CHARS = 64 * 1024

/** Yields to other work, which 300,000 records for a fast client would delay by seconds. */
async function* inPieces(lines: Iterable<string>): AsyncGenerator<string> {
  let piece = ''
  for (const line of lines) {
    piece += line
    if (piece.length < PIECE_CHARS) continue
    yield piece
    await nextTurn()
    piece = ''
  }
  yield piece
}

/**
 * Copies deletions before settings: one that is done has no user ids, but its suppressions are in the settings.
 * @returns undefined if Kafka does not answer.
 */
async function forBackup(parts: BackupRouteParts): Promise<BackupFacts | undefined> {
  const { settings, tasks } = parts
  if (!(await caughtUp(tasks.table, parts))) return undefined
  const deletions = new Map(tasks.deletions)
  return (await caughtUp(settings.table, parts)) ? { ...settings, deletions } : undefined
}

async function caughtUp(
  table: BackupRouteParts['settings']['table'],
  { log }: Pick<BackupRouteParts, 'log'>,
): Promise<boolean> {
  try {
    await withTimeout(table.caughtUp(), CLIENT_WAIT_MS)
    return true
  } catch (err) {
    log.warn({ err }, 'a backup or restore failed: the settings cannot be followed')
    return false
  }
}

type RestoreRequest = ApiRequest<z.output<typeof queryShape>>

async function restoreBackup(request: RestoreRequest, parts: BackupRouteParts): Promise<ApiResponse> {
  const { keys } = parts
  const bytes = await bytesOf(request, parts)
  if ('status' in bytes) return bytes
  const backup = verifyBackup(bytes, keys.backups ?? [])
  if ('code' in backup) return problem(backup)
  const contents = await contentsOf(backup, keys)
  if ('code' in contents) return problem(contents)
  const { settings, tasks } = parts
  const areNewest = await Promise.all([caughtUp(settings.table, parts), caughtUp(tasks.table, parts)])
  if (areNewest.includes(false)) return notBegun
  const facts = { ...settings, deletions: tasks.deletions }
  const now = new Date().toISOString()
  const plan = planRestore(contents, { facts, now })
  const isDry = request.query.dryRun === 'true'
  const refused = refusalOf(plan, isDry || request.query.force === 'true')
  if (refused) return refused
  const { madeAt, missing } = backup.head
  const report = { madeAt, ...reportOf(plan, contents.deletions.length), missing }
  if (isDry) return { status: 200, body: report }
  const restored = {
    what: 'restore',
    madeAt,
    settings: plan.steps.length,
    deletions: plan.deletions.length,
  } as const
  const isAny = restored.settings + restored.deletions > 0
  // it may take minutes, and the process may end
  if (isAny) audit(parts.log, request.caller, { ...restored, outcome: 'begun' })
  const failed = failureOf(await restore(plan, now, { ...parts, facts }), parts)
  audit(parts.log, request.caller, { ...restored, outcome: failed?.outcome ?? 'restored' })
  return failed?.response ?? { status: 200, body: report }
}

type Failure = { outcome: 'interrupted' | 'unavailable'; response: ApiResponse }

function failureOf(restored: Restored, { log }: Pick<BackupRouteParts, 'log'>): Failure | undefined {
  if (restored === 'done') return undefined
  if (restored === 'changed') return { outcome: 'interrupted', response: changedMeanwhile }
  if ('tooLarge' in restored) return { outcome: 'interrupted', response: recordTooLarge(restored) }
  log.warn({ err: restored.unavailable }, 'a restore broke off')
  return { outcome: 'unavailable', response: brokenOff }
}

async function bytesOf(
  request: ApiRequest,
  { maxBackup = MAX_BYTES }: Pick<BackupRouteParts, 'maxBackup'>,
): Promise<Buffer | ApiResponse> {
  const read = textOf(request, 'Send the backup with Content-Type: text/plain')
  if ('refused' in read) return read.refused
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of read.text) {
      size += piece.length
      if (size > maxBackup) return tooLarge
      pieces.push(piece)
    }
  } catch (error) {
    const isGzip = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
    return isGzip ? notGzip : brokenUpload
  }
  return Buffer.concat(pieces)
}

const noAnswer = (message: string) => problem({ code: 'unavailable', message }, { 'retry-after': '5' })

const noBackup = noAnswer('Kafka does not answer, so no backup can be made: try again')
const notBegun = noAnswer('Kafka does not answer, so nothing was restored: try again')

const tooLarge = problem({ code: 'body_too_large', message: 'The backup is too large: at most 256 MB' })

const NAMED = 10

/** Not 503, because each repetition would stop at the same record. */
function recordTooLarge({ tooLarge: keys, topic }: Extract<Restored, { tooLarge: unknown }>): ApiResponse {
  const named = `${keys.slice(0, NAMED).join(', ')}${keys.length > NAMED ? ', ...' : ''}`
  const message = `The restore stopped at records that are too large for Kafka: ${named}. Raise max.message.bytes of topic ${topic}, then restore again: it continues where it stopped`
  return problem({ code: 'body_too_large', message })
}

const notGzip = problem({ code: 'invalid_encoding', message: 'The body is not gzip, or is cut off' })
const brokenUpload = problem({
  code: 'upload_broken',
  message: 'The upload broke off. Nothing has changed',
})
const brokenOff = noAnswer(
  'Kafka does not answer, so the restore broke off. Restore again: it continues where it stopped',
)
const changedMeanwhile = problem({
  code: 'restore_conflict',
  message:
    'Someone else changed settings during the restore, so only part of it may be written. Do a dry run, then restore again',
})
