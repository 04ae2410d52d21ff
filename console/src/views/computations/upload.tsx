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
import { useState } from 'react'
import { type Computation, type Kind, type Sync, useUpload } from '../../api/computations.ts'
import { Refused } from '../../api/problem.ts'
import { whole } from '../../parts/number.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { WORDS } from './words.ts'

/** Typed in, or a file of any length. */
export function Upload({ kind, computation: { id, name } }: { kind: Kind; computation: Computation }) {
  const [opened, { open, close }] = useDisclosure()
  const [text, setText] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const [share, setShare] = useState(0)
  const [allowEmpty, setAllowEmpty] = useState(false)
  const upload = useUpload(kind, id)
  const { upload: title, format } = WORDS[kind]
  const isEmptyRefused = upload.error instanceof Refused && upload.error.code === 'empty_upload'
  function begin() {
    setShare(0)
    upload.mutate({ content: file ?? new Blob([text]), allowEmpty, onProgress: setShare })
  }
  return (
    <>
      <Button size="compact-sm" variant="default" onClick={open} aria-label={`${title} of ${name}`}>
        {title}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={`${title} of ${name}`}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Stack>
          <Textarea
            label={kind === 'audiences' ? 'User ids' : 'Values'}
            description={format}
            rows={6}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            disabled={file !== null}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            spellCheck={false}
          />
          <Group>
            <FileButton onChange={setFile} accept="text/plain,text/csv,.ndjson,.txt,.jsonl">
              {(props) => (
                <Button {...props} variant="default" size="xs">
                  Choose a file instead
                </Button>
              )}
            </FileButton>
            {file && (
              <Group gap={6}>
                <Text size="sm">
                  {file.name} ({whole(Math.ceil(file.size / 1024))} KB)
                </Text>
                <Button size="compact-xs" variant="subtle" onClick={() => setFile(null)}>
                  Remove
                </Button>
              </Group>
            )}
          </Group>
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
          <Refusal error={upload.error} title="Nothing was changed" />
          <div role="status">{upload.data && <Done sync={upload.data} />}</div>
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Close
            </Button>
            <Button onClick={begin} loading={upload.isPending}>
              Upload
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}

function Done({ sync: { state, lines, changed, removed, unchanged, suppressed, cause } }: { sync: Sync }) {
  if (state === 'failed' || state === 'cancelled')
    return (
      <Alert color="red" title={state === 'failed' ? 'It failed' : 'It was cancelled'}>
        {cause?.message ?? 'Some users may have been told of by then; the next upload tells the rest.'}
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
      Told of {whole(changed ?? 0)} new or changed and {whole(removed ?? 0)} gone; {whole(unchanged ?? 0)} are
      as they were
      {suppressed ? `, ${whole(suppressed)} are suppressed` : ''}.
    </Alert>
  )
}
