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
import { Refused } from '../../api/errors.ts'
import { Refusal } from '../../ui/error-alert.tsx'
import { whole } from '../../wording/format.ts'
import { WORDS } from './labels.ts'

type UploadParts = { kind: Kind; computation: Computation }

/** Typed in, or a file of any length. */
export function Upload({ kind, computation }: UploadParts) {
  const [opened, { open, close }] = useDisclosure()
  const title = `${WORDS[kind].upload} of ${computation.name}`
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open} aria-label={title}>
        {WORDS[kind].upload}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={title}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        {/* begun anew each time: that all have left is said for one upload alone */}
        <UploadForm kind={kind} computation={computation} onClose={close} />
      </Modal>
    </>
  )
}

function UploadForm({ kind, computation: { id }, onClose }: UploadParts & { onClose: () => void }) {
  const [text, setText] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const [share, setShare] = useState(0)
  const [allowEmpty, setAllowEmpty] = useState(false)
  const upload = useUpload(kind, id)
  const isEmptyRefused = upload.error instanceof Refused && upload.error.code === 'empty_upload'
  function begin() {
    setShare(0)
    upload.mutate(
      { content: file ?? new Blob([text]), allowEmpty: isEmptyRefused && allowEmpty, onProgress: setShare },
      { onSettled: () => setAllowEmpty(false) },
    )
  }
  return (
    <Stack>
      <Textarea
        label={kind === 'audiences' ? 'User ids' : 'Values'}
        description={WORDS[kind].format}
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
          label="Nobody is in it any more: tell receivers that everybody has left"
          checked={allowEmpty}
          onChange={(event) => setAllowEmpty(event.currentTarget.checked)}
        />
      )}
      {upload.isPending && (
        <div role="status">
          <Progress value={share * 100} animated aria-label="Upload" />
          <Text size="sm" mt={4}>
            {share < 1 ? 'Sending ...' : 'Comparing with the last one ...'}
          </Text>
        </div>
      )}
      <Refusal error={upload.error} title={titleOf(upload.error)} />
      <div role="status">{upload.data && <Done sync={upload.data} />}</div>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button onClick={begin} loading={upload.isPending}>
          Upload
        </Button>
      </Group>
    </Stack>
  )
}

/** What was refused has changed nothing; of what was not answered nobody knows. */
const titleOf = (error: unknown) =>
  error instanceof Refused && error.status >= 400 && error.status < 500
    ? 'Nothing was changed'
    : 'It is not known whether anything was changed'

type FileParts = { file: File | null; onChange: (file: File | null) => void }

export function ChooseFile({ file, onChange }: FileParts) {
  const reset = useRef<() => void>(null)
  return (
    <Group>
      <FileButton onChange={onChange} resetRef={reset} accept="text/plain,text/csv,.ndjson,.txt,.jsonl">
        {(props) => (
          <Button {...props} variant="default" size="xs">
            Choose a file instead
          </Button>
        )}
      </FileButton>
      {file && (
        <Group gap={6}>
          <Text size="sm" className="in-flow">
            {file.name} ({whole(Math.ceil(file.size / 1024))} KB)
          </Text>
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => {
              // the same file may be chosen again
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

/** What came of an upload. */
export function Done({
  sync: { state, lines, changed, removed, unchanged, suppressed, cause },
}: {
  sync: Sync
}) {
  if (state === 'failed' || state === 'cancelled')
    return (
      <Alert color="red" title={state === 'failed' ? 'It failed' : 'It was cancelled'}>
        {cause?.message ??
          'Calls about some users may have been sent by then; the next upload sends those about the others.'}
      </Alert>
    )
  if (state !== 'done')
    return (
      <Alert color="blue" title="Taken">
        It goes on by itself; “Last sync” says when it is over.
      </Alert>
    )
  return (
    <Alert color="green" title={`Compared ${whole(lines)} users with the last upload`}>
      Identify calls were sent about {whole(changed ?? 0)} users who are new or changed, and{' '}
      {whole(removed ?? 0)} who are gone. {whole(unchanged ?? 0)} are as they were
      {suppressed ? `; nothing is sent about ${whole(suppressed)}, who are suppressed` : ''}.
    </Alert>
  )
}
