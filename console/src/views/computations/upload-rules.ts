import type { components } from '../../api/client/schema.ts'
import { formatInteger, pluralize } from '../../wording/format.ts'

type Preview = components['schemas']['UploadPreview']
type Sync = components['schemas']['Sync']
type Kind = 'audiences' | 'traits'

/** Allows an otherwise refused upload. */
export type Allowance = 'allowEmpty' | 'allowRemovals' | 'skipInvalid'

export type Format = 'lines' | 'ndjson' | 'csv'

export const FORMATS: Record<Format, { type: string; label: string }> = {
  lines: { type: 'text/plain', label: 'one user ID per line' },
  ndjson: { type: 'application/x-ndjson', label: 'one JSON value per line' },
  csv: { type: 'text/csv', label: 'CSV' },
}

const HEADER = /(^|[,;\t])\s*"?user_?id"?\s*([,;\t]|$)/i
const JSON_LINE = /^(\{|"([^"\\]|\\.)*"$)/

/** @param start of the text. @param fileName undefined for pasted text. */
export function formatOf(kind: Kind, start: string, fileName: string | undefined): Format {
  const first = firstLine(start)
  if (/\.[ct]sv$/i.test(fileName ?? '') || HEADER.test(first)) return 'csv'
  return kind === 'traits' || JSON_LINE.test(first.trim()) ? 'ndjson' : 'lines'
}

const firstLine = (start: string) =>
  start
    .replace(/^\ufeff/, '')
    .trimStart()
    .split(/\r?\n/, 1)[0] ?? ''

/** Without named columns, a line with several fields is read as one id. */
export const looksLikeFields = (format: Format, start: string): boolean =>
  format === 'lines' && /[,;]/.test(firstLine(start))

/** Enough for a real first line. */
const START_BYTES = 4_096

export const startOf = (content: Blob): Promise<string> => content.slice(0, START_BYTES).text()

/** What the user has to confirm. */
export function requiredBy(preview: Preview | undefined): Allowance[] {
  if (!preview) return []
  return [
    ...(preview.invalid > 0 ? (['skipInvalid'] as const) : []),
    ...(preview.confirm ? [preview.confirm] : []),
  ]
}

export function consentTo(allowance: Allowance, { removed, current, invalid }: Preview): string {
  switch (allowance) {
    case 'skipInvalid':
      return `Leave out the ${pluralize(invalid, 'line')} that cannot be used`
    case 'allowEmpty':
      return 'The audience is now empty: tell receivers that everyone has left'
    case 'allowRemovals':
      return `Remove ${formatInteger(removed)} of ${formatInteger(current)}, which is more than a tenth`
  }
}

export const ENDS = {
  accepted: 'Upload accepted',
  done: 'Uploaded',
  failed: 'The upload failed',
  cancelled: 'The upload was cancelled',
} as const

type UploadState = { isPending: boolean; data: Sync | undefined; error: unknown }

/** Shown while the dialog is closed. */
export function uploadStatus({ isPending, data, error }: UploadState): string {
  if (isPending) return 'Uploading…'
  if (error || !data) return 'The upload had an error'
  return ENDS[data.state]
}

export function summaryOf(kind: Kind, { changed, removed, invalid }: Preview): string {
  const adds = `${kind === 'audiences' ? 'Adds' : 'Sets'} ${formatInteger(changed)}`
  const unusable = invalid > 0 ? `, ${pluralize(invalid, 'line')} cannot be used` : ''
  return `${adds}, removes ${formatInteger(removed)}${unusable}`
}

/** @param syncs newest first. Some may be of an earlier, deleted audience or trait with the same id. */
export const latestSync = (
  syncs: readonly Sync[],
  { kind, id, createdAt }: { kind: Kind; id: string; createdAt: string },
): Sync | undefined =>
  syncs.find(
    (sync) => (kind === 'audiences' ? sync.audienceId : sync.traitId) === id && sync.createdAt >= createdAt,
  )

/** Updates the upload's state if `sync`, the latest one, is its own. */
export const withLatest = <U extends { data: Sync | undefined }>(upload: U, sync: Sync | undefined): U =>
  sync && upload.data?.id === sync.id ? { ...upload, data: sync } : upload
