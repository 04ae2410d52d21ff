import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { counts, type Sync } from '../../../schemas/task.ts'
import type { Settings } from '../../../settings/follow.ts'
import type { Computation } from '../../../settings/settings.ts'
import type { Users } from '../../../settings/suppression-list.ts'
import type { Semaphore } from '../../api/concurrency.ts'
import type { ApiResponse } from '../../api/response.ts'
import { TaskFailed } from '../scheduler.ts'
import { type Comparison, diff, openComparison, PARTITIONS_CHANGED } from './comparison.ts'
import { LINE_CODES, type OnInvalid } from './upload-lines.ts'
import { type Changes, type UploadParts, UploadUnavailable, upload } from './upload-records.ts'

/** `current`: the number before the sync. */
export type ChangeCounts = z.infer<typeof counts> & { current: number }

type Counting = { others: Sync['others']; suppressed: Users | undefined; semaphore: Semaphore }

/** Compares like a sync, but writes nothing. @throws TaskFailed `upload_lost`, `partitions_changed` */
export async function countChanges(
  comparison: Comparison,
  { others, suppressed, semaphore }: Counting,
): Promise<ChangeCounts> {
  const total = { changed: 0, removed: 0, unchanged: 0, suppressed: 0, current: 0 }
  for (const partition of comparison.partitions)
    await semaphore(async () => {
      const { current, listed } = await comparison.read(partition)
      total.current += current.size
      total.unchanged += listed.size
      for (const { userId, value } of diff({ current, listed, others })) {
        if (listed.has(userId)) total.unchanged -= 1
        if (suppressed?.has(userId)) total.suppressed += 1
        else if (value === null) total.removed += 1
        else total.changed += 1
      }
    })
  for (const partition of comparison.unchanged)
    await semaphore(async () => {
      total.current += (await comparison.read(partition)).current.size
    })
  return total
}

/** More than a tenth is usually a mistake. */
export const removesMany = ({ removed, current }: Pick<ChangeCounts, 'removed' | 'current'>): boolean =>
  removed * 10 > current

export const MANY_REMOVALS = 'many_removals'

export function manyRemovalsMessage(
  { kind }: Pick<Sync['of'], 'kind'>,
  { removed, current }: Pick<ChangeCounts, 'removed' | 'current'>,
): string {
  const what = kind === 'audience' ? 'members' : 'values'
  const [some, all] = [removed, current].map((count) => count.toLocaleString('en-US'))
  return `The upload would remove ${some} of ${all} ${what}, which is more than a tenth: send ?allowRemovals=true if that is what you want`
}

/** A file in the wrong format has a fault on every line. */
const MAX_LISTED = 20

const invalidLineShape = z.strictObject({
  line: z.number().int().positive().describe('From 1.'),
  code: z.enum(LINE_CODES),
  message: z.string(),
})

export const previewShape = z
  .strictObject({
    lines: z.number().int().nonnegative().describe('Lines in the upload that name a user.'),
    ...counts.shape,
    current: z.number().int().nonnegative().describe('Members or values before the upload.'),
    invalid: z.number().int().nonnegative().describe('Lines that cannot be used.'),
    invalidLines: z.array(invalidLineShape).describe(`The first ${MAX_LISTED} of these lines.`),
    confirm: z
      .enum(['allowEmpty', 'allowRemovals'])
      .nullable()
      .describe('The parameter that the upload needs; without it, the upload is refused.'),
  })
  .meta({ id: 'UploadPreview' })

export type InvalidLines = {
  onInvalid: OnInvalid
  count(): number
  first: z.infer<typeof invalidLineShape>[]
}

export function createInvalidLines(): InvalidLines {
  let count = 0
  const first: InvalidLines['first'] = []
  return {
    onInvalid({ code, line, message }) {
      count += 1
      if (first.length < MAX_LISTED) first.push({ line, code, message })
    },
    count: () => count,
    first,
  }
}

export type PreviewParts = UploadParts & { settings: Pick<Settings, 'suppressedUsers'>; semaphore: Semaphore }

type PreviewRequest = Pick<Sync, 'of' | 'others'> & {
  computation: Computation
  changes: Changes
  mayBeEmpty: boolean
  mayRemoveMany: boolean
  invalid: Pick<InvalidLines, 'count' | 'first'>
}

/**
 * Streams the upload into Kafka, as it may not fit in memory, but creates no task. Kafka deletes it after a day.
 * @throws UploadFault, UploadUnavailable, TaskFailed `partitions_changed`
 */
export async function preview(
  { of, others, computation, changes, mayBeEmpty, mayRemoveMany, invalid }: PreviewRequest,
  parts: PreviewParts,
): Promise<ApiResponse> {
  const id = randomUUID()
  const uploaded = await upload({ changes, id, of }, parts)
  const { createdAt } = computation
  const sync: Sync = { kind: 'sync', id, createdAt, state: 'accepted', of, others, ...uploaded }
  const found = await compared(sync, computation, parts)
  const isEmpty = uploaded.lines === 0
  const isRefused = isEmpty ? !mayBeEmpty : !mayRemoveMany && removesMany(found)
  const body: z.infer<typeof previewShape> = {
    lines: uploaded.lines,
    ...found,
    invalid: invalid.count(),
    invalidLines: invalid.first,
    confirm: !isRefused ? null : isEmpty ? 'allowEmpty' : 'allowRemovals',
  }
  return { status: 200, body }
}

async function compared(
  sync: Sync,
  { createdAt, sourceId }: Computation,
  parts: PreviewParts,
): Promise<ChangeCounts> {
  const suppressed = parts.settings.suppressedUsers(sourceId)
  try {
    const comparison = await openComparison(sync, createdAt, parts)
    return await countChanges(comparison, { others: sync.others, suppressed, semaphore: parts.semaphore })
  } catch (cause) {
    if (cause instanceof TaskFailed && cause.code === PARTITIONS_CHANGED) throw cause
    throw new UploadUnavailable('an upload cannot be compared', { cause })
  }
}
