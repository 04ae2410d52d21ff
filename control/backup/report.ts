import { z } from 'zod'
import { type ApiResponse, problem } from '../api/response.ts'
import { BACKED_UP } from './backup-file.ts'
import type { RestorePlan } from './plan-restore.ts'

const changeShape = z.strictObject({
  setting: z.string().describe('`kind/id`.'),
  action: z
    .enum(['create', 'replace', 'keep'])
    .describe('`keep`: it exists, is not in the backup, and stays.'),
})

export const reportShape = z
  .strictObject({
    madeAt: z.string().describe('When the backup was made: ISO 8601 UTC.'),
    needsForce: z
      .boolean()
      .describe('Whether the system has settings that differ from the backup or are not in it.'),
    counts: z
      .record(
        z.enum(BACKED_UP),
        z.strictObject({
          created: z.number(),
          replaced: z.number(),
          unchanged: z.number(),
          kept: z.number().describe('In the system, but not in the backup.'),
        }),
      )
      .describe('By kind of record.'),
    changes: z.array(changeShape).describe('At most 1,000; suppressions come last.'),
    missing: z
      .array(z.string())
      .describe('Settings that could not be read when the backup was made, and are not in it.'),
  })
  .meta({ id: 'Restore' })

const NAMED = 10

export function refusalOf(
  { clashes, steps, kept }: RestorePlan,
  mayReplace: boolean,
): ApiResponse | undefined {
  const [clash] = clashes
  if (clash?.code === 'write_key_taken' || clash?.code === 'key_taken')
    return problem({ code: clash.code, message: clash.message, errors: clashes.slice(0, NAMED) })
  if (clash)
    return problem({ code: 'restore_conflict', message: clash.message, errors: clashes.slice(0, NAMED) })
  const differing = steps.flatMap(({ action, setting }) =>
    action === 'replace' ? [`${setting.kind}/${setting.value.id}`] : [],
  )
  const found = [...differing, ...kept]
  if (mayReplace || found.length === 0) return undefined
  const named = `${found.slice(0, NAMED).join(', ')}${found.length > NAMED ? ', ...' : ''}`
  const message = `The system is not empty: ${differing.length} settings differ from the backup, and ${kept.length} are not in it (${named}). With force, the backup replaces those that differ, and the others stay. Nothing has changed`
  return problem({ code: 'restore_conflict', message })
}

const LISTED = 1_000

export function reportOf(plan: RestorePlan, backedUpDeletions: number) {
  const { steps, unchanged, kept, deletions } = plan
  const changes = [
    ...steps.map(({ action, setting }) => ({ setting: `${setting.kind}/${setting.value.id}`, action })),
    ...kept.map((setting) => ({ setting, action: 'keep' as const })),
  ]
  const ofKind = (kind: string) => ({
    created: changes.filter(({ setting, action }) => action === 'create' && isOf(kind, setting)).length,
    replaced: changes.filter(({ setting, action }) => action === 'replace' && isOf(kind, setting)).length,
    unchanged: unchanged.filter((setting) => isOf(kind, setting)).length,
    kept: kept.filter((setting) => isOf(kind, setting)).length,
  })
  const created = deletions.length
  const counts = Object.fromEntries(BACKED_UP.map((kind) => [kind, ofKind(kind)]))
  const isSuppression = ({ setting }: { setting: string }) => isOf('suppression', setting)
  return {
    needsForce: kept.length > 0 || steps.some(({ action }) => action === 'replace'),
    counts: {
      ...counts,
      deletion: { created, replaced: 0, unchanged: backedUpDeletions - created, kept: 0 },
    },
    changes: [
      ...changes.filter((each) => !isSuppression(each)),
      ...changes.filter((each) => isSuppression(each)),
    ].slice(0, LISTED),
  }
}

const isOf = (kind: string, setting: string) => setting.startsWith(`${kind}/`)
