import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FencedWriter } from '../../kafka/fenced.ts'
import type { Logger } from '../../log.ts'
import type { Sync } from '../../schemas/task.ts'
import { audit } from '../audit.ts'
import type { Caller } from '../auth.ts'
import { type Answer, problem } from '../http/answer.ts'
import { answerTo, type Refusal } from '../http/refusal.ts'
import { conditionally } from '../settings/conditionally.ts'
import { unavailable } from '../settings/outcome.ts'
import type { Tasks } from '../tasks/follow.ts'
import { runningSync } from '../tasks/lane.ts'
import { taskRecord } from '../tasks/record.ts'
import { UploadFault } from './lines.ts'
import { shownSync } from './shown.ts'
import { type Changes, type UploadParts, UploadUnavailable, upload } from './upload.ts'

export type SyncRouteParts = UploadParts & {
  tasks: Pick<Tasks, 'syncs' | 'undone' | 'table'>
  taskWriter: Pick<FencedWriter, 'write'>
  log: Logger
}

type Wanted = Pick<Sync, 'of' | 'others' | 'since'> & {
  caller: Caller
  changes: Changes
  mayBeEmpty: boolean
  /** How long to wait for what comes of it, in milliseconds. */
  patienceMs: number
  /** The process ends: whoever goes on with it cannot answer. */
  ends: AbortSignal
}

const EVERY_MS = 20

/** Takes an upload, has it compared, and answers with what has come of it. One at a time of each audience or trait. */
export function syncer(parts: SyncRouteParts): (wanted: Wanted) => Promise<Answer> {
  const uploading = new Set<string>()
  return async (wanted) => {
    const name = `${wanted.of.kind}/${wanted.of.id}`
    const running = runningSync(wanted.of, parts.tasks)
    if (running || uploading.has(name)) return answerTo(isRunning(wanted.of, running))
    uploading.add(name)
    try {
      const accepted = await accept(wanted, parts)
      return 'status' in accepted ? accepted : await answered(accepted, wanted, parts)
    } finally {
      uploading.delete(name)
    }
  }
}

async function accept(wanted: Wanted, parts: SyncRouteParts): Promise<Sync | Answer> {
  const { caller, of, others, since } = wanted
  const id = randomUUID()
  const createdAt = new Date().toISOString()
  const taken = await upload({ ...wanted, id }, parts).catch((error: unknown) => faultOf(error, parts))
  if ('status' in taken) return taken
  if (taken.lines === 0 && !wanted.mayBeEmpty) return empty
  const sync: Sync = { kind: 'sync', id, createdAt, state: 'accepted', of, since, others, ...taken }
  const { tasks, taskWriter: writer, log } = parts
  const outcome = await conditionally(
    { tables: [tasks.table], writer, log },
    {
      decide() {
        const running = runningSync(of, tasks)
        return running ? { refusal: isRunning(of, running) } : sync
      },
      records: (task) => [taskRecord(task)],
    },
  )
  if (outcome !== 'unavailable' && 'refusal' in outcome) return answerTo(outcome.refusal)
  const said = { what: of.kind, id: of.id, sync: id, lines: sync.lines }
  audit(log, caller, { ...said, outcome: outcome === 'unavailable' ? outcome : 'uploaded' })
  return outcome === 'unavailable' ? unavailable : outcome
}

async function answered(
  { id }: Sync,
  { patienceMs, ends }: Pick<Wanted, 'patienceMs' | 'ends'>,
  { tasks }: SyncRouteParts,
): Promise<Answer> {
  const end = performance.now() + patienceMs
  for (;;) {
    const sync = tasks.syncs.get(id)
    if (sync && sync.state !== 'accepted') return { status: 200, body: shownSync(sync) }
    if (ends.aborted || performance.now() >= end)
      return { status: 202, headers: { location: `/api/syncs/${id}` }, body: { id, state: 'accepted' } }
    await sleep(EVERY_MS)
  }
}

/** @param running undefined: it is not taken yet. */
const isRunning = ({ kind, id }: Sync['of'], running: Sync | undefined): Refusal => ({
  code: 'in_use',
  faults: [
    {
      pointer: '',
      code: 'sync_running',
      message: running
        ? `sync ${running.id} of ${kind} ${id} is under way: GET /api/syncs/${running.id} tells of it`
        : `an upload for ${kind} ${id} is under way: try again when it is done`,
    },
  ],
})

const empty = problem({
  code: 'empty_upload',
  message:
    'The upload names nobody, which would remove all members: send ?allowEmpty=true if that is what you want',
})

/** What is neither the client's fault nor Kafka's is thrown on. */
function faultOf(error: unknown, { log }: Pick<SyncRouteParts, 'log'>): Answer {
  if (error instanceof UploadUnavailable) {
    log.warn({ err: error }, 'an upload cannot be taken')
    return unavailable
  }
  if (error instanceof UploadFault) {
    const { code, line, message } = error
    return problem({ code, message: `Line ${line} ${message}. Nothing has been changed` })
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('Z_')) return problem({ code: 'invalid_encoding', message: 'The body is no gzip' })
  if (code === 'ECONNRESET')
    return problem({ code: 'upload_broken', message: 'The upload broke off. Nothing has been changed' })
  throw error
}
