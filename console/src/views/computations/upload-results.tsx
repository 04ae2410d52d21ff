import { Alert, List, Progress, Text } from '@mantine/core'
import { ApiError } from '../../api/client/errors.ts'
import type { Kind, Preview, Sync } from '../../api/computations.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { formatInteger, pluralize } from '../../wording/format.ts'
import { ENDS, FORMATS, requiredBy, summaryOf, withLatest } from './upload-rules.ts'
import type { Uploading } from './use-uploading.ts'

type ResultsProps = { kind: Kind; uploading: Uploading; sync: Sync | undefined }

/** @param sync the latest one. It may have been started elsewhere, or before the page was loaded. */
export function UploadResults({ kind, uploading, sync }: ResultsProps) {
  const { isPending, progress, preview, upload } = uploading
  const { data } = withLatest(upload, sync)
  const shown = data ?? (sync?.state === 'accepted' && !isPending ? sync : undefined)
  return (
    <>
      {isPending && (
        <div role="status">
          {progress !== undefined && <Progress value={progress * 100} animated aria-label="Upload" />}
          <Text size="sm" mt={4}>
            {progress === 1 ? 'Comparing with the last upload…' : 'Uploading…'}
            {upload.isPending && ' You can close this dialog: the upload continues while this tab is open.'}
          </Text>
        </div>
      )}
      <ErrorAlert error={preview.error} title="The preview failed" />
      <ErrorAlert error={upload.error} title={titleOf(upload.error)} />
      <div role="status">
        {preview.data && <PreviewResult kind={kind} uploading={uploading} preview={preview.data} />}
        {shown && <SyncResult sync={shown} />}
      </div>
    </>
  )
}

/** A rejection changes nothing. Without an answer it is uncertain. */
const titleOf = (error: unknown) =>
  error instanceof ApiError && error.status >= 400 && error.status < 500
    ? 'Nothing was changed'
    : 'The upload may or may not have been applied'

type PreviewProps = { kind: Kind; uploading: Uploading; preview: Preview }

function PreviewResult({ kind, uploading: { format, isDoubtful }, preview }: PreviewProps) {
  const { removed, current, unchanged, suppressed, invalid, invalidLines } = preview
  const isSerious = requiredBy(preview).length > 0
  return (
    <Alert color={isSerious ? 'yellow' : 'blue'} title={summaryOf(kind, preview)}>
      <Text size="sm">
        Read as {FORMATS[format].label}. {removed > 0 && `${formatInteger(current)} before. `}
        {formatInteger(unchanged)} unchanged. Nothing has been sent yet.
        {suppressed > 0 && ` Nothing will be sent for ${pluralize(suppressed, 'suppressed user')}.`}
      </Text>
      {isDoubtful && (
        <Text size="sm" mt={4}>
          The first line has commas or semicolons, and is read as one ID. If it has several columns, add a
          line before it that names them, one of them userId.
        </Text>
      )}
      {invalid > 0 && (
        <List size="sm" mt={4}>
          {invalidLines.map(({ line, message }) => (
            <List.Item key={line} className="wraps">
              Line {formatInteger(line)} {message}
            </List.Item>
          ))}
          {invalid > invalidLines.length && (
            <List.Item>and {formatInteger(invalid - invalidLines.length)} more</List.Item>
          )}
        </List>
      )}
    </Alert>
  )
}

function SyncResult({
  sync: { state, lines, changed, removed, unchanged, suppressed, cause },
}: {
  sync: Sync
}) {
  if (state === 'failed' || state === 'cancelled')
    return (
      <Alert color="red" title={ENDS[state]}>
        {cause?.message ?? 'Calls may have been sent for some users. The next upload sends the rest.'}
      </Alert>
    )
  if (state !== 'done')
    return (
      <Alert color="blue" title={ENDS.accepted}>
        It continues in the background. “Last sync” shows when it is done.
      </Alert>
    )
  return (
    <Alert color="green" title={`Compared ${pluralize(lines, 'user')} with the last upload`}>
      Identify calls were sent for {pluralize(changed ?? 0, 'new or changed user')} and for{' '}
      {pluralize(removed ?? 0, 'removed one')}. Unchanged: {formatInteger(unchanged ?? 0)}.
      {suppressed ? ` Nothing is sent for ${pluralize(suppressed, 'suppressed user')}.` : ''}
    </Alert>
  )
}
