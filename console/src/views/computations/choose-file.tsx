import { Button, FileButton, Group, Text } from '@mantine/core'
import { useRef } from 'react'
import { whole } from '../../parts/number.ts'

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
