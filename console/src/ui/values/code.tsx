import { Box, Code, Group } from '@mantine/core'
import { Copy } from './copy.tsx'
import { withWholePorts } from './url.tsx'

/** Indented JSON. Text that is not JSON is shown unchanged. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <Code
      block
      fz="xs"
      mah={360}
      tabIndex={0}
      aria-label={label}
      className="in-flow"
      style={{ overflow: 'auto' }}
    >
      {typeof value === 'string' ? indented(value) : JSON.stringify(value, null, 2)}
    </Code>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

export function Snippet({ code, what }: { code: string; what: string }) {
  return (
    <Box>
      <Code block fz="sm" tabIndex={0} aria-label={what} className="in-flow">
        {withWholePorts(code)}
      </Code>
      <Group justify="flex-end" mt={6}>
        <Copy text={code} what={what} />
      </Group>
    </Box>
  )
}
