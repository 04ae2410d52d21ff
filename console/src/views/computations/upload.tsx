import { Button, Checkbox, FileButton, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useRef, useState } from 'react'
import {
  type Computation,
  forgetUpload,
  type Kind,
  type Sync,
  useLatestUpload,
} from '../../api/computations.ts'
import { formatInteger } from '../../wording/format.ts'
import { visible } from '../../wording/visible.ts'
import { LABELS } from './labels.ts'
import { UploadResults } from './upload-results.tsx'
import { consentTo, uploadStatus, withLatest } from './upload-rules.ts'
import { type Uploading, useUploading } from './use-uploading.ts'

/** `sync`: the latest one. */
type UploadProps = { kind: Kind; computation: Computation; sync: Sync | undefined }

export function Upload({ kind, computation, sync }: UploadProps) {
  const [opened, { open, close }] = useDisclosure()
  const latest = useLatestUpload(kind, computation.id)
  const title = `${LABELS[kind].upload} to ${computation.name}`
  function closeDialog() {
    // the dialog has shown how it ended
    if (!latest?.isPending) forgetUpload(kind, computation.id)
    close()
  }
  return (
    <>
      <div>
        <Button size="compact-sm" variant="default" onClick={open} aria-label={title}>
          {LABELS[kind].upload}
        </Button>
        {latest && !opened && (
          <Text size="xs" role="status">
            {uploadStatus(withLatest(latest, sync))}
          </Text>
        )}
      </div>
      <Modal
        opened={opened}
        onClose={closeDialog}
        title={visible(title)}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        {/* a new form for each dialog: consent to an empty upload counts once */}
        <UploadForm kind={kind} computation={computation} sync={sync} onClose={closeDialog} />
      </Modal>
    </>
  )
}

function UploadForm({ kind, computation: { id }, sync, onClose }: UploadProps & { onClose: () => void }) {
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
      <UploadResults kind={kind} uploading={uploading} sync={sync} />
      <Consents uploading={uploading} />
      <Actions uploading={uploading} onClose={onClose} />
    </Stack>
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

type FileProps = { file: File | null; disabled: boolean; onChange: (file: File | null) => void }

function ChooseFile({ file, disabled, onChange }: FileProps) {
  const reset = useRef<() => void>(null)
  return (
    <Group>
      <FileButton
        onChange={onChange}
        resetRef={reset}
        disabled={disabled}
        accept="text/plain,text/csv,.csv,.tsv,.ndjson,.txt,.jsonl"
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
              // allows the same file again
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
