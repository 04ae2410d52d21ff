import {
  Alert,
  Button,
  Checkbox,
  FileButton,
  Group,
  Modal,
  Progress,
  Stack,
  Text,
  Textarea,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRef, useState } from 'react'
import { type Computation, type Kind, type Sync, usePreview, useUpload } from '../../api/computations.ts'
import { ApiError } from '../../api/errors.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { formatInteger } from '../../wording/format.ts'
import { LABELS } from './labels.ts'
import { PreviewResult } from './preview.tsx'
import {
  type Allowance,
  consentTo,
  FORMATS,
  type Format,
  formatOf,
  requiredBy,
  startOf,
} from './upload-rules.ts'

type UploadProps = { kind: Kind; computation: Computation }

export function Upload({ kind, computation }: UploadProps) {
  const [opened, { open, close }] = useDisclosure()
  const title = `${LABELS[kind].upload} to ${computation.name}`
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open} aria-label={title}>
        {LABELS[kind].upload}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={title}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        {/* a new form each time the dialog opens: the consent to an empty upload counts once */}
        <UploadForm kind={kind} computation={computation} onClose={close} />
      </Modal>
    </>
  )
}

/** Shows a preview, then uploads exactly what the preview showed. */
function useUploading(kind: Kind, id: string, content: { text: string; file: File | null }) {
  const [format, setFormat] = useState<Format>('lines')
  const [progress, setProgress] = useState(0)
  const [allowed, setAllowed] = useState<readonly Allowance[]>([])
  const preview = usePreview(kind, id)
  const upload = useUpload(kind, id)
  const blob = content.file ?? new Blob([content.text])
  const required = requiredBy(preview.data)

  function startOver() {
    setAllowed([])
    preview.reset()
    upload.reset()
  }

  async function startPreview() {
    startOver()
    setProgress(0)
    const found = formatOf(kind, await startOf(blob), content.file?.name)
    setFormat(found)
    preview.mutate({ content: blob, type: FORMATS[found].type, onProgress: setProgress })
  }

  function startUpload() {
    setProgress(0)
    const request = {
      content: blob,
      type: FORMATS[format].type,
      allowances: required,
      onProgress: setProgress,
    }
    upload.mutate(request, {
      // a consent counts only once, and the next upload is compared with this one
      onSettled() {
        setAllowed([])
        preview.reset()
      },
    })
  }

  const isReady = preview.data !== undefined && required.every((each) => allowed.includes(each))
  const isPending = preview.isPending || upload.isPending
  const state = { format, progress, allowed, required, preview, upload, isReady, isPending }
  return { ...state, setAllowed, startOver, startPreview, startUpload }
}

type Uploading = ReturnType<typeof useUploading>

function UploadForm({ kind, computation: { id }, onClose }: UploadProps & { onClose: () => void }) {
  const [text, setText] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const uploading = useUploading(kind, id, { text, file })
  const { isPending, startOver } = uploading
  return (
    <Stack>
      <Textarea
        label={kind === 'audiences' ? 'User IDs' : 'Values'}
        description={LABELS[kind].format}
        rows={6}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          startOver()
        }}
        disabled={file !== null || isPending}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        spellCheck={false}
        data-autofocus
      />
      <ChooseFile
        file={file}
        disabled={isPending}
        onChange={(chosen) => {
          setFile(chosen)
          startOver()
        }}
      />
      <Results kind={kind} uploading={uploading} />
      <Consents uploading={uploading} />
      <Actions uploading={uploading} onClose={onClose} />
    </Stack>
  )
}

function Results({ kind, uploading }: { kind: Kind; uploading: Uploading }) {
  const { isPending, progress, format, preview, upload } = uploading
  return (
    <>
      {isPending && (
        <div role="status">
          <Progress value={progress * 100} animated aria-label="Upload" />
          <Text size="sm" mt={4}>
            {progress < 1 ? 'Uploading…' : 'Comparing with the last upload…'}
          </Text>
        </div>
      )}
      <ErrorAlert error={preview.error} title="The preview failed" />
      <ErrorAlert error={upload.error} title={titleOf(upload.error)} />
      <div role="status">
        {preview.data && <PreviewResult kind={kind} format={format} preview={preview.data} />}
        {upload.data && <SyncResult sync={upload.data} />}
      </div>
    </>
  )
}

function Consents({ uploading: { preview, required, allowed, setAllowed } }: { uploading: Uploading }) {
  const { data } = preview
  if (!data || required.length === 0) return null
  return (
    <Checkbox.Group
      aria-label="Confirm"
      value={[...allowed]}
      onChange={(values) => setAllowed(required.filter((each) => values.includes(each)))}
    >
      <Stack gap="xs">
        {required.map((each) => (
          <Checkbox key={each} value={each} label={consentTo(each, data)} />
        ))}
      </Stack>
    </Checkbox.Group>
  )
}

function Actions({ uploading, onClose }: { uploading: Uploading; onClose: () => void }) {
  const { preview, upload, isPending, isReady, startPreview, startUpload } = uploading
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        Close
      </Button>
      {preview.data ? (
        <Button onClick={startUpload} loading={upload.isPending} disabled={!isReady}>
          Upload
        </Button>
      ) : (
        <Button onClick={() => void startPreview()} loading={isPending}>
          Preview
        </Button>
      )}
    </Group>
  )
}

/** A rejected upload changed nothing. Without an answer it is uncertain. */
const titleOf = (error: unknown) =>
  error instanceof ApiError && error.status >= 400 && error.status < 500
    ? 'Nothing was changed'
    : 'The upload may or may not have been applied'

type FileProps = { file: File | null; disabled: boolean; onChange: (file: File | null) => void }

function ChooseFile({ file, disabled, onChange }: FileProps) {
  const reset = useRef<() => void>(null)
  return (
    <Group>
      <FileButton
        onChange={onChange}
        resetRef={reset}
        disabled={disabled}
        accept="text/plain,text/csv,.csv,.ndjson,.txt,.jsonl"
      >
        {(props) => (
          <Button {...props} variant="default" size="xs">
            Choose a file
          </Button>
        )}
      </FileButton>
      {file && (
        <Group gap={6}>
          <Text size="sm" className="in-flow">
            {file.name} ({formatInteger(Math.ceil(file.size / 1024))} KB)
          </Text>
          <Button
            size="compact-xs"
            variant="subtle"
            disabled={disabled}
            onClick={() => {
              // lets the user choose the same file again
              reset.current?.()
              onChange(null)
            }}
          >
            Remove
          </Button>
        </Group>
      )}
    </Group>
  )
}

function SyncResult({
  sync: { state, lines, changed, removed, unchanged, suppressed, cause },
}: {
  sync: Sync
}) {
  if (state === 'failed' || state === 'cancelled')
    return (
      <Alert color="red" title={state === 'failed' ? 'The upload failed' : 'The upload was cancelled'}>
        {cause?.message ?? 'Calls may have been sent for some users. The next upload sends the rest.'}
      </Alert>
    )
  if (state !== 'done')
    return (
      <Alert color="blue" title="Upload accepted">
        It continues in the background. “Last sync” shows when it is done.
      </Alert>
    )
  return (
    <Alert color="green" title={`Compared ${formatInteger(lines)} users with the last upload`}>
      Identify calls were sent for {formatInteger(changed ?? 0)} new or changed users and for{' '}
      {formatInteger(removed ?? 0)} removed ones. {formatInteger(unchanged ?? 0)} are unchanged.
      {suppressed ? ` Nothing is sent for ${formatInteger(suppressed)} suppressed users.` : ''}
    </Alert>
  )
}
