import { Box, Code, Group } from '@mantine/core'
import type { ReactNode } from 'react'
import { visible } from '../../wording/visible.ts'
import { Copy } from './copy.tsx'
import { withWholePorts } from './url.tsx'

/** Indents JSON and keeps other text. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    <ScrollingCode label={label} maxHeight={360}>
      {visible(typeof value === 'string' ? indented(value) : JSON.stringify(value, null, 2))}
    </ScrollingCode>
  )
}

type ScrollingProps = { label: string; maxHeight: number; children: ReactNode }

/** Scrolls with the keyboard too. */
export const ScrollingCode = ({ label, maxHeight, children }: ScrollingProps) => (
  <Code
    block
    fz="xs"
    mah={maxHeight}
    tabIndex={0}
    aria-label={label}
    className="in-flow"
    style={{ overflow: 'auto' }}
  >
    {children}
  </Code>
)

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
