import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FencedWriter } from '../../kafka/produce/transactions.ts'
import { batchesOf } from '../../process/batches.ts'
import type { Deletion } from '../../schemas/task.ts'
import type { Setting } from '../../settings/lookup.ts'
import type { ConfigKeys } from '../../settings/seal.ts'
import { configRecord } from '../settings/write.ts'
import { taskRecord } from '../tasks/task-table.ts'
import { type BackupFault, readLine, type VerifiedBackup } from './backup-file.ts'
import {
  type Against,
  type Contents,
  isKeyTaken,
  type RestorePlan,
  type Step,
  stepFor,
} from './plan-restore.ts'

/** Lets other work run in between. */
const READ_AT_ONCE = 500
const WRITTEN_AT_ONCE = 500

/** If a record cannot be opened, nothing is written. */
export async function contentsOf(backup: VerifiedBackup, keys: ConfigKeys): Promise<Contents | BackupFault> {
  const settings: Setting[] = []
  const deletions: Deletion[] = []
  let count = 0
  for (const line of backup.lines()) {
    const read = readLine(line, keys)
    if ('code' in read) return read
    if (read.kind === 'deletion') deletions.push(read)
    else settings.push(read)
    count += 1
    if (count % READ_AT_ONCE === 0) await nextTurn()
  }
  return { settings, deletions }
}

export type RestoreParts = {
  facts: Against['facts']
  writer: Pick<FencedWriter, 'write'>
  taskWriter: Pick<FencedWriter, 'write'>
  keys: ConfigKeys
}

/** `changed`: a setting changed meanwhile. Part of the plan may be written. */
export type Restored = 'done' | 'changed' | { unavailable: Error }

/** Deletions come last: their events need destinations. If it breaks off, repeat the restore. */
export async function restore(plan: RestorePlan, now: string, parts: RestoreParts): Promise<Restored> {
  for (const some of batchesOf(plan.steps, WRITTEN_AT_ONCE)) {
    // separate decisions: the writer divides them into requests that Kafka accepts
    const outcome = outcomeOf(await Promise.all(some.map((step) => writeStep(step, { plan, now }, parts))))
    if (outcome !== 'done') return outcome
  }
  const written = plan.deletions.map((deletion) =>
    parts.taskWriter.write(() =>
      parts.facts.deletions.has(deletion.id)
        ? { refusal: 'done' as const }
        : { records: [taskRecord(deletion)] },
    ),
  )
  return outcomeOf(await Promise.all(written))
}

type Course = { plan: Pick<RestorePlan, 'restored'>; now: string }

function writeStep({ action, setting }: Step, { plan, now }: Course, { facts, writer, keys }: RestoreParts) {
  return writer.write<'done' | 'changed'>(() => {
    const step = stepFor(setting, { facts, now })
    // a repeated decision finds its own write
    if (!step) return { refusal: 'done' }
    if (step.action !== action || isKeyTaken(setting, facts, plan.restored)) return { refusal: 'changed' }
    const { kind, value } = step.setting
    return { records: [configRecord({ kind, id: value.id, record: value }, keys)] }
  })
}

type Written = Awaited<ReturnType<typeof writeStep>>

function outcomeOf(written: readonly Written[]): Restored {
  const failed = written.find((each) => 'unavailable' in each)
  if (failed && 'unavailable' in failed) return { unavailable: failed.unavailable }
  const isChanged = written.some((each) => 'refusal' in each && each.refusal === 'changed')
  return isChanged ? 'changed' : 'done'
}
