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
import { type Computation, type Kind, type Sync, useUpload } from '../../api/computations.ts'
import { ApiError } from '../../api/errors.ts'
import { ErrorAlert } from '../../ui/error-alert.tsx'
import { formatInteger } from '../../wording/format.ts'
import { LABELS } from './labels.ts'

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
        {/* mounted anew each time: the consent to an empty upload counts once */}
        <UploadForm kind={kind} computation={computation} onClose={close} />
      </Modal>
    </>
  )
}

function UploadForm({ kind, computation: { id }, onClose }: UploadProps & { onClose: () => void }) {
  const [text, setText] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const [progress, setProgress] = useState(0)
  const [allowEmpty, setAllowEmpty] = useState(false)
  const upload = useUpload(kind, id)
  const isEmptyRefused = upload.error instanceof ApiError && upload.error.code === 'empty_upload'
  function start() {
    setProgress(0)
    upload.mutate(
      {
        content: file ?? new Blob([text]),
        allowEmpty: isEmptyRefused && allowEmpty,
        onProgress: setProgress,
      },
      { onSettled: () => setAllowEmpty(false) },
    )
  }
  return (
    <Stack>
      <Textarea
        label={kind === 'audiences' ? 'User IDs' : 'Values'}
        description={LABELS[kind].format}
        rows={6}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        disabled={file !== null}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        spellCheck={false}
        data-autofocus
      />
      <ChooseFile file={file} onChange={setFile} />
      {isEmptyRefused && (
        <Checkbox
          label="The audience is empty now: tell receivers that everyone has left"
          checked={allowEmpty}
          onChange={(event) => setAllowEmpty(event.currentTarget.checked)}
        />
      )}
      {upload.isPending && (
        <div role="status">
          <Progress value={progress * 100} animated aria-label="Upload" />
          <Text size="sm" mt={4}>
            {progress < 1 ? 'Uploading…' : 'Comparing with the last upload…'}
          </Text>
        </div>
      )}
      <ErrorAlert error={upload.error} title={titleOf(upload.error)} />
      <div role="status">{upload.data && <SyncResult sync={upload.data} />}</div>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button onClick={start} loading={upload.isPending}>
          Upload
        </Button>
      </Group>
    </Stack>
  )
}

/** A rejected upload changed nothing. Without an answer it is uncertain. */
const titleOf = (error: unknown) =>
  error instanceof ApiError && error.status >= 400 && error.status < 500
    ? 'Nothing was changed'
    : 'The upload may or may not have been applied'

type FileProps = { file: File | null; onChange: (file: File | null) => void }

function ChooseFile({ file, onChange }: FileProps) {
  const reset = useRef<() => void>(null)
  return (
    <Group>
      <FileButton onChange={onChange} resetRef={reset} accept="text/plain,text/csv,.ndjson,.txt,.jsonl">
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
