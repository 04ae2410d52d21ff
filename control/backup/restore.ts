import { setImmediate as nextTurn } from 'node:timers/promises'
import { isTooLarge } from '../../kafka/produce/send.ts'
import type { FencedWriter, Written } from '../../kafka/produce/transactions.ts'
import { batchesOf } from '../../process/batches.ts'
import { type Deletion, taskKey } from '../../schemas/task.ts'
import { TASKS } from '../../schemas/topics.ts'
import type { Setting } from '../../settings/lookup.ts'
import type { ConfigKeys } from '../../settings/seal.ts'
import { CONFIG } from '../../settings/settings.ts'
import { configRecord } from '../settings/write.ts'
import { taskRecord } from '../tasks/task-table.ts'
import { type BackupFault, readLine, type VerifiedBackup } from './backup-file.ts'
import {
  type Against,
  type Contents,
  isKeyTaken,
  keyOf,
  ORDER,
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

/**
 * Unless `done`, part of the plan may be written. `changed`: a setting changed meanwhile. `tooLarge`: keys of records
 * that are too large for Kafka.
 */
export type Restored =
  | 'done'
  | 'changed'
  | { unavailable: Error }
  | { tooLarge: readonly string[]; topic: typeof CONFIG | typeof TASKS }

/** Deletions come last: their events need destinations. If it breaks off, repeat the restore. */
export async function restore(plan: RestorePlan, now: string, parts: RestoreParts): Promise<Restored> {
  for (const some of batchesByKind(plan.steps)) {
    // separate decisions: the writer divides them into requests that Kafka accepts
    const written = await Promise.all(some.map((step) => writeStep(step, { plan, now }, parts)))
    // stop even if one setting failed: no source may be restored without the suppressions and destinations before it
    const outcome = outcomeOf(written, { keys: some.map(({ setting }) => keyOf(setting)), topic: CONFIG })
    if (outcome !== 'done') return outcome
  }
  const written = plan.deletions.map((deletion) =>
    parts.taskWriter.write(() =>
      parts.facts.deletions.has(deletion.id)
        ? { refusal: 'done' as const }
        : { records: [taskRecord(deletion)] },
    ),
  )
  return outcomeOf(await Promise.all(written), { keys: plan.deletions.map(taskKey), topic: TASKS })
}

/** One kind in each batch, because Kafka may refuse one record of a batch and take the others. */
function* batchesByKind(steps: readonly Step[]): Generator<readonly Step[]> {
  for (const kind of ORDER)
    yield* batchesOf(
      steps.filter(({ setting }) => setting.kind === kind),
      WRITTEN_AT_ONCE,
    )
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

type WrittenRecords = { keys: readonly string[]; topic: typeof CONFIG | typeof TASKS }

/** @param keys of `written`, in its order. */
function outcomeOf(
  written: readonly Written<'done' | 'changed'>[],
  { keys, topic }: WrittenRecords,
): Restored {
  const failures = written.flatMap((each) => ('unavailable' in each ? each.unavailable : []))
  const failed = failures.find((error) => !isTooLarge(error))
  if (failed) return { unavailable: failed }
  if (failures.length > 0) return { tooLarge: keys.filter((_, at) => isFailed(written[at])), topic }
  const isChanged = written.some((each) => 'refusal' in each && each.refusal === 'changed')
  return isChanged ? 'changed' : 'done'
}

const isFailed = (written: Written<unknown> | undefined) => written !== undefined && 'unavailable' in written
