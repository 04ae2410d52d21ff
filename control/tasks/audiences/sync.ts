import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { FencedWriter } from '../../../kafka/produce/transactions.ts'
import type { Logger } from '../../../process/log.ts'
import { counts, type Sync, syncTask } from '../../../schemas/task.ts'
import type { Refusal } from '../../../settings/resources/decide.ts'
import type { Computation } from '../../../settings/settings.ts'
import { audit } from '../../api/audit.ts'
import type { Caller } from '../../api/auth/tokens.ts'
import { createSemaphore } from '../../api/concurrency.ts'
import { unavailable, writeConditionally } from '../../api/conditional-write.ts'
import { type ApiResponse, problem, refusalResponse } from '../../api/response.ts'
import { runningSync, TaskFailed } from '../scheduler.ts'
import { type Tasks, taskRecord } from '../task-table.ts'
import { PARTITIONS_CHANGED } from './comparison.ts'
import { type InvalidLines, MANY_REMOVALS, type PreviewParts, preview } from './preview.ts'
import { UploadFault } from './upload-lines.ts'
import { type Changes, UploadUnavailable, upload } from './upload-records.ts'

/** With counts once it is done. */
export const syncShape = syncTask
  .pick({ id: true, state: true, createdAt: true, finishedAt: true, lines: true, skipped: true, cause: true })
  .extend({
    audienceId: z.string().optional().describe('If it is the sync of an audience.'),
    traitId: z.string().optional().describe('If it is the sync of a trait.'),
    ...counts.partial().shape,
  })
  .strict()
  .meta({ id: 'Sync' })

export const syncResponse = ({
  kind: _,
  others: __,
  ranges: ___,
  since: ____,
  refusesManyRemovals: _____,
  salt: ______,
  of,
  counts,
  ...rest
}: Sync): z.infer<typeof syncShape> => ({
  ...rest,
  [`${of.kind}Id`]: of.id,
  ...counts,
})

export type SyncRouteParts = Omit<PreviewParts, 'semaphore'> & {
  tasks: Pick<Tasks, 'syncs' | 'pending' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  log: Logger
}

type SyncRequest = Pick<Sync, 'of' | 'others'> & {
  caller: Caller
  computation: Computation
  changes: Changes
  invalid: InvalidLines
  /** Only report what the upload would do. */
  dryRun: boolean
  mayBeEmpty: boolean
  mayRemoveMany: boolean
  timeoutMs: number
  /** At shutdown: another process finishes the sync, but cannot respond to this client. */
  shutdown: AbortSignal
}

const EVERY_MS = 20
/** Partitions in memory. */
const PREVIEWED_AT_ONCE = 1

/** Waits for the sync and responds. One at a time for each audience or trait. */
export function createSyncer(parts: SyncRouteParts): (request: SyncRequest) => Promise<ApiResponse> {
  const uploading = new Set<string>()
  const semaphore = createSemaphore(PREVIEWED_AT_ONCE)
  return async (request) => {
    const name = `${request.of.kind}/${request.of.id}`
    const running = runningSync(request.of, parts.tasks)
    if (running || uploading.has(name)) return refusalResponse(isRunning(request.of, running))
    if (request.dryRun)
      return preview(request, { ...parts, semaphore }).catch((error: unknown) => faultOf(error, parts))
    uploading.add(name)
    try {
      const accepted = await accept(request, parts)
      return 'status' in accepted ? accepted : await waitForEnd(accepted, request, parts)
    } finally {
      uploading.delete(name)
    }
  }
}

async function accept(request: SyncRequest, parts: SyncRouteParts): Promise<Sync | ApiResponse> {
  const { caller, of, others, computation, invalid, mayBeEmpty, mayRemoveMany } = request
  const id = randomUUID()
  const createdAt = new Date().toISOString()
  const uploaded = await upload({ ...request, id }, parts).catch((error: unknown) => faultOf(error, parts))
  if ('status' in uploaded) return uploaded
  const isEmpty = uploaded.lines === 0
  if (isEmpty && !mayBeEmpty) return empty
  const skipped = invalid.count()
  const sync: Sync = {
    kind: 'sync',
    id,
    createdAt,
    state: 'accepted',
    of,
    since: computation.createdAt,
    others,
    salt: randomUUID(),
    ...uploaded,
    ...(skipped > 0 && { skipped }),
    ...(!mayRemoveMany && !isEmpty && { refusesManyRemovals: true }),
  }
  const { tasks, taskWriter: writer, log } = parts
  const outcome = await writeConditionally(
    { tables: [tasks.table], writer, log },
    {
      decide() {
        const running = runningSync(of, tasks)
        return running ? { refusal: isRunning(of, running) } : sync
      },
      records: (task) => [taskRecord(task)],
    },
  )
  if (outcome !== 'unavailable' && 'refusal' in outcome) return refusalResponse(outcome.refusal)
  const uploadedTo = { what: of.kind, id: of.id, sync: id, lines: sync.lines }
  audit(log, caller, { ...uploadedTo, outcome: outcome === 'unavailable' ? outcome : 'uploaded' })
  return outcome === 'unavailable' ? unavailable : outcome
}

async function waitForEnd(
  { id }: Sync,
  { timeoutMs, shutdown }: Pick<SyncRequest, 'timeoutMs' | 'shutdown'>,
  { tasks }: SyncRouteParts,
): Promise<ApiResponse> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const sync = tasks.syncs.get(id)
    if (sync && sync.state !== 'accepted')
      return manyRemovals(sync) ?? { status: 200, body: syncResponse(sync) }
    if (shutdown.aborted || performance.now() >= end)
      return { status: 202, headers: { location: `/api/syncs/${id}` }, body: { id, state: 'accepted' } }
    await sleep(EVERY_MS)
  }
}

const manyRemovals = ({ cause }: Sync): ApiResponse | undefined =>
  cause?.code === MANY_REMOVALS ? problem({ code: MANY_REMOVALS, message: cause.message }) : undefined

/** @param running undefined while the upload is being received. */
const isRunning = ({ kind, id }: Sync['of'], running: Sync | undefined): Refusal => ({
  code: 'in_use',
  faults: [
    {
      pointer: '',
      code: 'sync_running',
      message: running
        ? `sync ${running.id} of ${kind} ${id} is in progress: see GET /api/syncs/${running.id}`
        : `an upload for ${kind} ${id} is in progress: try again when it is done`,
    },
  ],
})

const empty = problem({
  code: 'empty_upload',
  message:
    'The upload lists no users, which would remove all members: send ?allowEmpty=true if that is what you want',
})

/** An upload changes nothing until its sync is accepted. */
export const notUploaded = problem(
  { code: 'unavailable', message: 'Kafka does not answer. Nothing has changed: try again' },
  { 'retry-after': '5' },
)

/** Rethrows errors that are neither the client's nor Kafka's. */
function faultOf(error: unknown, { log }: Pick<SyncRouteParts, 'log'>): ApiResponse {
  if (error instanceof UploadUnavailable) {
    log.warn({ err: error }, 'an upload failed')
    return notUploaded
  }
  if (error instanceof UploadFault) {
    const { code, line, message } = error
    return problem({ code, message: `Line ${line} ${message}. Nothing has changed` })
  }
  if (error instanceof TaskFailed && error.code === PARTITIONS_CHANGED)
    return problem({ code: PARTITIONS_CHANGED, message: error.message })
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('Z_'))
    return problem({ code: 'invalid_encoding', message: 'The body is not gzip, or is cut off' })
  if (code === 'ECONNRESET')
    return problem({ code: 'upload_broken', message: 'The upload broke off. Nothing has changed' })
  throw error
}

/** If a crash prevents this task, the stored users are ignored, and deleted by a new resource with this id. */
export function storedUsersRemover(
  kind: Sync['of']['kind'],
  { taskWriter, log }: Pick<SyncRouteParts, 'taskWriter' | 'log'>,
): (id: string) => Promise<void> {
  return async (id) => {
    const createdAt = new Date().toISOString()
    const task: Sync = {
      kind: 'sync',
      id: randomUUID(),
      createdAt,
      state: 'accepted',
      of: { kind, id },
      others: 'forgotten',
      ranges: [],
      lines: 0,
    }
    const written = await taskWriter.write(() => ({ records: [taskRecord(task)] }))
    if ('unavailable' in written)
      log.warn(
        { err: written.unavailable, kind, id },
        'users of a removed audience or trait may still be stored',
      )
  }
}
